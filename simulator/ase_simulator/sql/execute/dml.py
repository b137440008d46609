"""INSERT, UPDATE, DELETE, TRUNCATE, CREATE TABLE, DROP TABLE and SELECT INTO."""

from dataclasses import replace

from ase_simulator.results import Type, TypeName
from ase_simulator.sql.compile.compiler import Compiled, table_name
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.execute.queries import QueryResult, Values, compile_query, run_query
from ase_simulator.sql.execute.target import (
    TargetTable,
    client_table,
    create_table,
    drop_table,
    unlocked,
)
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.lexer import Kind, Token
from ase_simulator.sql.syntax.parser import spelled, word_token
from ase_simulator.sql.types.convert import convert
from ase_simulator.sql.types.values import EngineValue

_VARYING: dict[TypeName, TypeName] = {
    "char": "varchar",
    "nchar": "nvarchar",
    "unichar": "univarchar",
    "binary": "varbinary",
}


_DDL: dict[type[ast.Statement], str] = {
    ast.CreateTable: "CREATE TABLE",
    ast.DropTable: "DROP TABLE",
}


def split_name(tokens: ast.Tokens) -> tuple[str, str]:
    """Database ('' for the current one) and name of `t`, `owner.t`, `db..t`, `db.owner.t`."""
    names = [token.text for token in tokens if not token.is_operator(".")]
    dots = sum(token.is_operator(".") for token in tokens)
    return (names[0] if dots == 2 else ""), names[-1]


def _target(session: Context, table: ast.Tokens) -> TargetTable:
    return TargetTable(session, client_table(session, *split_name(table)))


async def evaluate(session: Context, tokens: ast.Tokens) -> tuple[Type, EngineValue]:
    """The type and value of one expression."""
    line = tokens[0].line if tokens else 1
    compiled = compile_query(session, ast.Query(line, [word_token("select", line), *tokens]))
    answer = await run_query(session, compiled)
    row = next(answer.rows, (None,))
    return compiled.columns[0].type, row[0]


async def insert(session: Context, statement: ast.Insert) -> int:
    """Runs an INSERT; returns the number of rows; raises SqlError 213."""
    target = _target(session, statement.table)
    compiled = compile_query(session, ast.Query(statement.line, statement.query))
    rows = list((await run_query(session, compiled)).rows)
    columns = statement.columns or [name for name, _ in target.columns]
    types = [column.type for column in compiled.columns]
    if len(columns) != len(types):
        raise SqlError(213)
    places = [target.place(column) for column in columns]
    target.check_columns(columns)
    target.check_values(places, rows)
    made_rows = []
    for row in rows:
        values: list[EngineValue] = [None] * len(target.columns)
        for place, source, value in zip(places, types, row, strict=True):
            values[place] = _fitted(source, target.columns[place][1], value)
        made_rows.append(values)
    await target.insert(made_rows)
    return len(made_rows)


async def update(session: Context, statement: ast.Update) -> int:
    """Runs an UPDATE; returns the number of rows."""
    target, line = _target(session, statement.table), statement.line
    places = [target.place(column) for column, _ in statement.assignments]
    tokens = [word_token("select", line), *_row_number(statement.table, line)]
    for _, expression in statement.assignments:
        tokens += [_comma_token(line), *expression]
    compiled, rows = await _changed(session, target, statement.table, tokens, statement.tail)
    sources = [column.type for column in compiled.columns[1:]]
    wanted = [target.columns[place][1] for place in places]
    last: dict[EngineValue, list[EngineValue]] = {}
    for row in rows:
        values = [_fitted(s, w, v) for s, w, v in zip(sources, wanted, row[1:], strict=True)]
        last[row[0]] = [row[0], *values]
    target.check_values(places, [row[1:] for row in last.values()])
    target.update(places, list(last.values()))
    return len(last)


async def delete(session: Context, statement: ast.Delete) -> int:
    """Runs a DELETE; returns the number of rows."""
    target = _target(session, statement.table)
    tokens = [word_token("select", statement.line), *_row_number(statement.table, statement.line)]
    _, rows = await _changed(session, target, statement.table, tokens, statement.tail)
    numbers = {row[0] for row in rows}
    target.delete(sorted(numbers))  # type: ignore[type-var]
    return len(numbers)


async def _changed(
    session: Context, target: TargetTable, table: ast.Tokens, items: list[Token], tail: ast.Tokens
) -> tuple[Compiled, list[Values]]:
    """The rows that UPDATE or DELETE changes, locked."""
    tail = list(tail)
    name = table[-1].text
    if tail and tail[0].is_word("from"):
        following = [*tail[1:], _comma_token(0)]
        listed = (
            not after.is_operator(".")
            for token, after in zip(tail, following, strict=True)
            if token.text == name
        )
        if not any(listed):
            tail[1:1] = [*table, _comma_token(table[0].line)]
    else:
        tail[:0] = [word_token("from", table[0].line), *table]
    compiled = compile_query(session, ast.Query(items[0].line, [*items, *tail]))
    while True:
        answer: QueryResult = await run_query(session, compiled, changing=target.table)
        rows = list(answer.rows)
        if not await target.lock(row[0] for row in rows):
            return compiled, rows


def _row_number(table: ast.Tokens, line: int) -> list[Token]:
    quoted = table[-1].text.replace("'", "''")
    return spelled(f"row_number_of('{quoted}')", line)


def _fitted(source: Type, wanted: Type, value: EngineValue) -> EngineValue:
    """A value as a column of the wanted type takes it; raises SqlError."""
    if value is None or source == wanted:
        return value
    return convert(source, wanted, value, how="implicit")


async def define(session: Context, statement: ast.Statement) -> None:
    """Runs CREATE TABLE, TRUNCATE TABLE and DROP TABLE; raises SqlError 2762 in a transaction."""
    if session.trancount and not session.frame.system and not isinstance(statement, ast.Truncate):
        raise SqlError(2762, _DDL[type(statement)], session.database)
    match statement:
        case ast.Truncate():
            target = _target(session, statement.table)
            await target.own()
            target.truncate()
        case ast.CreateTable():
            columns = [
                (each.name, _kept_type(each.type, nullable=each.nullable)) for each in statement.columns
            ]
            not_null = frozenset(column.name for column in statement.columns if not column.nullable)
            await unlocked(lambda: create_table(session, *split_name(statement.table), columns, not_null))
        case ast.DropTable():
            for tokens in statement.tables:
                await _drop(session, *split_name(tokens))


def _kept_type(type_: Type, *, nullable: bool) -> Type:
    """Strings of fixed length that may be NULL are kept, and sent, without padding."""
    if nullable and type_.name == "bit":
        raise NotSimulatedError("a bit column that allows NULL, of which ASE has none")
    varying = _VARYING.get(type_.name) if nullable else None
    return replace(type_, name=varying) if varying else type_


async def _drop(session: Context, database: str, name: str) -> None:
    """Drops a table; raises SqlError 3701."""
    found = session.shared.permanent.find(database or session.database, name)
    if name not in session.temporary and found is not None:
        await TargetTable(session, client_table(session, database, name)).own()
    drop_table(session, database, name)


async def into(session: Context, compiled: Compiled, answer: QueryResult) -> int:
    """SELECT INTO: a new table with the query's columns and rows; raises SqlError 226 in a transaction."""
    if session.trancount and not session.frame.system:
        raise SqlError(226, "SELECT INTO")
    assert compiled.into is not None
    node = compiled.into
    columns = [(column.name, column.type) for column in compiled.columns]
    if any(not column for column, _ in columns):
        raise SqlError(1121)
    not_null = frozenset(column.name for column in compiled.columns if not column.nullable)
    made = await unlocked(lambda: create_table(session, node.catalog, table_name(node), columns, not_null))
    rows = list(answer.rows)
    await TargetTable(session, made).insert(rows)
    return len(rows)


def _comma_token(line: int) -> Token:
    return Token(Kind.OPERATOR, ",", line, 0, 0)
