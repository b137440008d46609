"""INSERT, UPDATE, DELETE, TRUNCATE, CREATE TABLE, DROP TABLE and SELECT INTO."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ase_simulator.results import Type, TypeName
from ase_simulator.sql.compile.compiler import Compiled, table_name
from ase_simulator.sql.context import StatementContext
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.commands import drop_database
from ase_simulator.sql.execute.queries import QueryResult, Values, compile_query, run_query
from ase_simulator.sql.execute.target import TargetTable, create_table, drop_table
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.lexer import Kind, Token
from ase_simulator.sql.types.convert import convert
from ase_simulator.sql.types.values import EngineValue

Marks = Sequence[EngineValue]

_VARYING: dict[TypeName, TypeName] = {
    "char": "varchar",
    "nchar": "nvarchar",
    "unichar": "univarchar",
    "binary": "varbinary",
}


def split_name(tokens: ast.Tokens) -> tuple[str, str]:
    """Database ('' for the current one) and name of `t`, `owner.t`, `db..t`, `db.owner.t`."""
    names = [token.text for token in tokens if not token.is_operator(".")]
    dots = sum(token.is_operator(".") for token in tokens)
    return (names[0] if dots == 2 else ""), names[-1]


async def insert(session: StatementContext, statement: ast.Insert, marks: Marks) -> int:
    """Runs an INSERT; returns the number of rows."""
    database, name = split_name(statement.table)
    if statement.query is not None:
        tokens = list(statement.query)
    else:
        tokens = [word_token("select", statement.line), *(statement.values or ())]
    compiled = compile_query(session, tokens)
    answer = await run_query(session, compiled, marks)
    rows: list[Sequence[EngineValue]] = list(answer.rows)
    columns, types = statement.columns, [column.type for column in compiled.columns]
    for column, tokens_of_default in TargetTable(session, database, name).defaults.items():
        if columns is not None and column not in columns:
            type_, value = await evaluate(session, tokens_of_default)
            columns, types = [*columns, column], [*types, type_]
            rows = [[*row, value] for row in rows]
    return store(session, database, name, columns, types, rows)


async def evaluate(
    session: StatementContext, tokens: ast.Tokens, marks: Marks = ()
) -> tuple[Type, EngineValue]:
    """The type and value of one expression."""
    line = tokens[0].line if tokens else 1
    compiled = compile_query(session, [word_token("select", line), *tokens])
    answer = await run_query(session, compiled, marks)
    row = next(answer.rows, (None,))
    return compiled.columns[0].type, row[0]


def store(
    session: StatementContext,
    database: str,
    name: str,
    columns: Sequence[str] | None,
    types: Sequence[Type],
    rows: Iterable[Sequence[EngineValue]],
) -> int:
    """Inserts rows of these types into the named columns (None: all but the identity); raises SqlError 213."""
    with TargetTable(session, database, name) as target:
        if columns is None:
            columns = [column for column, _ in target.columns if column != target.identity]
        if len(columns) != len(types):
            raise SqlError(213)
        places = [target.place(column) for column in columns]
        converters = [
            (place, source, target.columns[place][1]) for place, source in zip(places, types, strict=True)
        ]
        target.check_columns(columns)
        rows = list(rows)
        target.check_values(places, rows)
        made_rows = []
        for row in rows:
            values: list[EngineValue] = [None] * len(target.columns)
            for (place, source, wanted), value in zip(converters, row, strict=True):
                values[place] = fitted(source, wanted, value)
            made_rows.append(values)
        target.insert(made_rows)
        return len(made_rows)


def fitted(source: Type, wanted: Type, value: EngineValue) -> EngineValue:
    """A value as a column of the wanted type takes it; raises SqlError."""
    if value is None or source == wanted:
        return value
    return convert(source, wanted, value, how="implicit")


async def update(session: StatementContext, statement: ast.Update, marks: Marks) -> int:
    """Runs an UPDATE; returns the number of rows."""
    database, name = split_name(statement.table)
    line = statement.line
    with TargetTable(session, database, _real_name(session, statement.table, statement.tail, name)) as target:
        places = [target.place(column) for column, _ in statement.assignments]
        tokens = [word_token("select", line), *_row_number(name, line)]
        for _, expression in statement.assignments:
            tokens += [comma_token(line), *expression]
        compiled, rows = await _changed(session, statement.table, tokens, statement.tail, marks)
        sources = [column.type for column in compiled.columns[1:]]
        wanted = [target.columns[place][1] for place in places]
        last: dict[EngineValue, list[EngineValue]] = {}
        for row in rows:
            values = [fitted(s, w, v) for s, w, v in zip(sources, wanted, row[1:], strict=True)]
            last[row[0]] = [row[0], *values]
        target.check_values(places, [row[1:] for row in last.values()])
        target.update(places, list(last.values()))
        return len(last)


async def delete(session: StatementContext, statement: ast.Delete, marks: Marks) -> int:
    """Runs a DELETE; returns the number of rows."""
    database, name = split_name(statement.table)
    with TargetTable(session, database, _real_name(session, statement.table, statement.tail, name)) as target:
        tokens = [word_token("select", statement.line), *_row_number(name, statement.line)]
        _, rows = await _changed(session, statement.table, tokens, statement.tail, marks)
        numbers = {row[0] for row in rows}
        target.delete(sorted(numbers))  # type: ignore[type-var]
        return len(numbers)


def _real_name(session: StatementContext, table: ast.Tokens, tail: ast.Tokens, name: str) -> str:
    """`update x … from #t x`: the table behind an alias."""
    if name in session.temporary:
        return name
    for place, token in enumerate(tail[1:], 1):
        before = tail[place - 1]
        if token.text == name and before.is_identifier and not before.is_word("from", "join"):
            return before.text
    return name


async def _changed(
    session: StatementContext, table: ast.Tokens, items: list[Token], tail: ast.Tokens, marks: Marks
) -> tuple[Compiled, list[Values]]:
    """The rows that UPDATE or DELETE changes."""
    tail = list(tail)
    name = table[-1].text
    if tail and tail[0].is_word("from"):
        if not any(token.text == name for token in tail):
            tail[1:1] = [*table, comma_token(table[0].line)]
    else:
        tail[:0] = [word_token("from", table[0].line), *table]
    compiled = compile_query(session, [*items, *tail])
    answer: QueryResult = await run_query(session, compiled, marks)
    return compiled, list(answer.rows)


def _row_number(name: str, line: int) -> list[Token]:
    return [
        word_token("row_number_of", line),
        Token(Kind.OPERATOR, "(", line, 0, 0),
        Token(Kind.STRING, name, line, 0, 0),
        Token(Kind.OPERATOR, ")", line, 0, 0),
    ]


def truncate(session: StatementContext, statement: ast.Truncate) -> None:
    """Runs a TRUNCATE TABLE."""
    with TargetTable(session, *split_name(statement.table)) as target:
        target.truncate()


def create(session: StatementContext, statement: ast.CreateTable) -> None:
    """A new table."""
    database, name = split_name(statement.table)
    identity = next((column.name for column in statement.columns if column.identity), "")
    defaults = {column.name: column.default for column in statement.columns if column.default is not None}
    columns = [(column.name, _kept_type(column)) for column in statement.columns]
    not_null = frozenset(
        column.name for column in statement.columns if not column.nullable and not column.identity
    )
    keys = {column for constraint in statement.constraints for column in constraint.columns}
    for missing in sorted(keys - {column for column, _ in columns}):
        raise SqlError(207, missing)
    create_table(session, database, name, columns, identity, defaults, not_null, statement.constraints)


def create_index(session: StatementContext, statement: ast.CreateIndex) -> None:
    """CREATE INDEX: only a unique one is kept; raises SqlError 1505 if its key is not unique."""
    session.table(*split_name(statement.table))
    if statement.unique is None:
        return
    with TargetTable(session, *split_name(statement.table)) as target:
        try:
            target.check(statement.unique)
        except SqlError as error:
            raise SqlError(1505) if error.message.number == 2601 else error from None
        target.constraints.append(statement.unique)


def _kept_type(column: ast.ColumnSpec) -> Type:
    """Strings of fixed length that may be NULL are kept, and sent, without padding."""
    varying = _VARYING.get(column.type.name) if column.nullable else None
    return replace(column.type, name=varying) if varying else column.type


def drop(session: StatementContext, statement: ast.Drop) -> None:
    """Drops tables or client procedures; raises SqlError 3701."""
    for tokens in statement.names:
        database, name = split_name(tokens)
        if statement.kind == "table":
            drop_table(session, database, name)
        elif statement.kind in ("procedure", "function"):
            made = session.shared.procedures
            key = (database or session.database, name)
            if key not in made or (made[key].returns is not None) != (statement.kind == "function"):
                raise SqlError(3701, statement.kind, name)
            del made[key]
        elif statement.kind == "database":
            drop_database(session, name)
        elif statement.kind == "index":
            _drop_index(session, tokens)
        elif statement.kind != "statistics":
            raise SqlError(3701, statement.kind, name)


def _drop_index(session: StatementContext, tokens: ast.Tokens) -> None:
    """Drops an index by `table.index`; one that is not unique was never kept."""
    *_, index = tokens
    table = tokens[:-2]
    if table:
        with TargetTable(session, *split_name(table)) as target:
            target.constraints[:] = [each for each in target.constraints if each.name != index.text]


def into(session: StatementContext, compiled: Compiled, answer: QueryResult) -> int:
    """SELECT INTO: a new table with the query's columns and rows."""
    assert compiled.into is not None
    node = compiled.into
    name = table_name(node)
    columns = [(column.name, column.type) for column in compiled.columns]
    if any(not column for column, _ in columns):
        raise SqlError(1121)
    create_table(session, node.catalog, name, columns)
    with TargetTable(session, node.catalog, name) as target:
        rows = list(answer.rows)
        target.insert(rows)
    return len(rows)


def word_token(text: str, line: int) -> Token:
    """A generated keyword or name."""
    return Token(Kind.WORD, text, line, 0, 0)


def comma_token(line: int) -> Token:
    """A generated comma."""
    return Token(Kind.OPERATOR, ",", line, 0, 0)
