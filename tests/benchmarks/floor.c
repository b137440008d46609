/* The floor: the same rows over the same FreeTDS ODBC driver into bound arrays, and nothing else.
 *
 * floor CONNECTION QUERY: for each line on stdin runs the query once, keeping the connection, and prints rows,
 * seconds of wall time and seconds of CPU.
 */
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 1000, LABELS = 3, VALUES = 6, TEXT = 64 };

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

int main(int count, char **arguments)
{
    static char texts[LABELS][ROWS][TEXT];
    static SQLBIGINT values[VALUES][ROWS];
    static SQLLEN lengths[LABELS + VALUES][ROWS];
    SQLHENV environment;
    SQLHDBC connection;
    SQLHSTMT statement;
    SQLULEN fetched;
    int column, asked;

    if (count != 3)
        return 2;
    SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment);
    SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection);
    check(SQLDriverConnect(connection, NULL, (SQLCHAR *)arguments[1], SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT),
          SQL_HANDLE_DBC, connection);
    SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement);
    SQLSetStmtAttr(statement, SQL_ATTR_ROW_ARRAY_SIZE, (SQLPOINTER)ROWS, 0);
    SQLSetStmtAttr(statement, SQL_ATTR_ROWS_FETCHED_PTR, &fetched, 0);
    for (column = 0; column < LABELS; column++)
        SQLBindCol(statement, column + 1, SQL_C_CHAR, texts[column], TEXT, lengths[column]);
    for (; column < LABELS + VALUES; column++)
        SQLBindCol(statement, column + 1, SQL_C_SBIGINT, values[column - LABELS], 0, lengths[column]);

    while ((asked = getchar()) != EOF) {
        double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        long rows = 0;
        SQLRETURN code;
        if (asked != '\n')
            continue;
        check(SQLExecDirect(statement, (SQLCHAR *)arguments[2], SQL_NTS), SQL_HANDLE_STMT, statement);
        while (SQL_SUCCEEDED(code = SQLFetch(statement)))
            rows += fetched;
        if (code != SQL_NO_DATA)
            check(code, SQL_HANDLE_STMT, statement);
        SQLCloseCursor(statement);
        printf("%ld %.6f %.6f\n", rows, now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        fflush(stdout);
    }
    return 0;
}
