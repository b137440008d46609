/* The floor: the same statements over the same FreeTDS ODBC driver into bound arrays, and nothing else.
 *
 * floor CONNECTION BATCH [TEXT]: for each line on stdin runs the batch once, keeping the connection, and prints rows,
 * seconds of wall time and seconds of CPU. TEXT: a file with the answer of an exporter, each number replaced by a byte
 * of 1: it is written with the numbers of the rows, to /dev/null.
 */
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1000, COLUMNS = 64, TEXT = 512, NUMBERS = 1 << 16 };

static SQLLEN lengths[COLUMNS][ROWS];
static char *memory[COLUMNS];
static double numbers[NUMBERS];
static long known;

static double now(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void check(SQLRETURN code, SQLSMALLINT kind, SQLHANDLE handle)
{
    SQLCHAR state[6], text[512] = "";
    SQLINTEGER number;
    if (SQL_SUCCEEDED(code))
        return;
    SQLGetDiagRec(kind, handle, 1, state, &number, text, sizeof text, NULL);
    fprintf(stderr, "floor: %s\n", text);
    exit(1);
}

/* Binds numbers as doubles and all else as text, and fetches the rows of the current result. */
static long fetch(SQLHSTMT statement, SQLULEN *fetched)
{
    SQLSMALLINT count = 0, column, type[COLUMNS];
    long rows = 0;
    SQLULEN row;
    SQLRETURN code;

    check(SQLNumResultCols(statement, &count), SQL_HANDLE_STMT, statement);
    for (column = 0; column < count && column < COLUMNS; column++) {
        SQLDescribeCol(statement, column + 1, NULL, 0, NULL, &type[column], NULL, NULL, NULL);
        int text = type[column] == SQL_CHAR || type[column] == SQL_VARCHAR || type[column] == SQL_LONGVARCHAR ||
                   type[column] < -7 || type[column] >= SQL_DATETIME;
        type[column] = text ? SQL_C_CHAR : SQL_C_DOUBLE;
        SQLBindCol(statement, column + 1, type[column], memory[column], text ? TEXT : 0, lengths[column]);
    }
    while (count && SQL_SUCCEEDED(code = SQLFetch(statement))) {
        rows += *fetched;
        for (column = 0; column < count; column++)
            for (row = 0; type[column] == SQL_C_DOUBLE && row < *fetched && known < NUMBERS; row++)
                numbers[known++] = ((double *)memory[column])[row];
    }
    if (count && code != SQL_NO_DATA)
        check(code, SQL_HANDLE_STMT, statement);
    SQLFreeStmt(statement, SQL_UNBIND);
    return rows;
}

static void write_text(const char *text, size_t size, FILE *out)
{
    static char buffer[1 << 22];
    const char *end = text + size, *stop;
    char *at = buffer;
    long number = 0;

    for (; text < end; text = stop + 1) {
        stop = memchr(text, 1, end - text);
        stop = stop ? stop : end;
        memcpy(at, text, stop - text);
        at += stop - text;
        if (stop < end)
            at += sprintf(at, "%.17g", known ? numbers[number++ % known] : 0.0);
    }
    fwrite(buffer, 1, at - buffer, out);
    fflush(out);
}

int main(int count, char **arguments)
{
    static char text[1 << 22];
    SQLHENV environment;
    SQLHDBC connection;
    SQLHSTMT statement;
    SQLULEN fetched;
    size_t size = 0;
    FILE *file, *out = fopen("/dev/null", "w");
    int column, asked;

    if (count < 3)
        return 2;
    if (count > 3 && (file = fopen(arguments[3], "r"))) {
        size = fread(text, 1, sizeof text, file);
        fclose(file);
    }
    for (column = 0; column < COLUMNS; column++)
        memory[column] = malloc(ROWS * TEXT);
    SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment);
    SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection);
    check(SQLDriverConnect(connection, NULL, (SQLCHAR *)arguments[1], SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT),
          SQL_HANDLE_DBC, connection);
    SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement);
    SQLSetStmtAttr(statement, SQL_ATTR_ROW_ARRAY_SIZE, (SQLPOINTER)ROWS, 0);
    SQLSetStmtAttr(statement, SQL_ATTR_ROWS_FETCHED_PTR, &fetched, 0);

    while ((asked = getchar()) != EOF) {
        double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        long rows = 0;
        if (asked != '\n')
            continue;
        known = 0;
        check(SQLExecDirect(statement, (SQLCHAR *)arguments[2], SQL_NTS), SQL_HANDLE_STMT, statement);
        do
            rows += fetch(statement, &fetched);
        while (SQL_SUCCEEDED(SQLMoreResults(statement)));
        SQLCloseCursor(statement);
        if (size)
            write_text(text, size, out);
        printf("%ld %.6f %.6f\n", rows, now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        fflush(stdout);
    }
    return 0;
}
