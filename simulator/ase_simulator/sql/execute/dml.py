"""INSERT, UPDATE, DELETE, TRUNCATE, CREATE TABLE, DROP TABLE and SELECT INTO."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ase_simulator.results import Type, TypeName
from ase_simulator.sql.compile.compiler import Compiled, table_name
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.execute.commands import drop_database
from ase_simulator.sql.execute.queries import QueryResult, Values, compile_query, run_query
from ase_simulator.sql.execute.target import (
    TargetTable,
    add_constraint,
    client_table,
    create_table,
    drop_constraint,
    drop_table,
    fitted,
    rebuild,
)
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.keywords import RESERVED
from ase_simulator.sql.syntax.lexer import Kind, Token, tokenize
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


async def insert(session: Context, statement: ast.Insert, marks: Marks) -> int:
    """Runs an INSERT; returns the number of rows."""
    target = TargetTable(session, client_table(session, *split_name(statement.table)))
    if statement.query is not None:
        tokens = list(statement.query)
    else:
        tokens = [word_token("select", statement.line), *(statement.values or ())]
    compiled = compile_query(session, tokens)
    answer = await run_query(session, compiled, marks)
    return await store(
        session, target, statement.columns, [column.type for column in compiled.columns], list(answer.rows)
    )


async def evaluate(session: Context, tokens: ast.Tokens, marks: Marks = ()) -> tuple[Type, EngineValue]:
    """The type and value of one expression."""
    line = tokens[0].line if tokens else 1
    compiled = compile_query(session, [word_token("select", line), *tokens])
    answer = await run_query(session, compiled, marks)
    row = next(answer.rows, (None,))
    return compiled.columns[0].type, row[0]


async def store(
    session: Context,
    target: TargetTable,
    columns: Sequence[str] | None,
    types: Sequence[Type],
    rows: Sequence[Sequence[EngineValue]],
) -> int:
    """Inserts rows of these types into the named columns (None: all but the identity); raises SqlError 213."""
    table = target.table
    if columns is None:
        columns = [
            column
            for column, _ in target.columns
            if column != table.identity or len(types) == len(target.columns)
        ]
    if len(columns) != len(types):
        raise SqlError(213)
    if table.identity in columns and not identity_insert(session, table.name):
        raise SqlError(584, table.name)
    for column, tokens in table.defaults.items():
        if column not in columns:
            type_, value = await evaluate(session, tokens)
            columns, types = [*columns, column], [*types, type_]
            rows = [[*row, value] for row in rows]
    places = [target.place(column) for column in columns]
    converters = [
        (place, source, target.columns[place][1]) for place, source in zip(places, types, strict=True)
    ]
    target.check_columns(columns)
    target.check_values(places, rows)
    made_rows = []
    for row in rows:
        values: list[EngineValue] = [None] * len(target.columns)
        for (place, source, wanted), value in zip(converters, row, strict=True):
            values[place] = fitted(source, wanted, value)
        made_rows.append(values)
    await target.insert(made_rows)
    return len(made_rows)


def identity_insert(session: Context, name: str) -> bool:
    """Whether SET IDENTITY_INSERT lets this session give values for a table's identity column."""
    words = session.settings.others.get("identity_insert", "").split()
    return words[-1:] == ["on"] and words[0].split(".")[-1] == name


async def update(session: Context, statement: ast.Update, marks: Marks) -> int:
    """Runs an UPDATE; returns the number of rows."""
    target, name = _changing(session, statement.table, statement.tail)
    line = statement.line
    places = [target.place(column) for column, _ in statement.assignments]
    if target.table.identity in [column for column, _ in statement.assignments]:
        raise SqlError(585, target.table.identity)
    tokens = [word_token("select", line), *_row_number(name, line)]
    for column, expression in statement.assignments:
        if len(expression) == 1 and expression[0].is_word("default"):
            expression = target.table.defaults.get(column, [word_token("null", line)])
        tokens += [comma_token(line), *expression]
    compiled, rows = await _changed(session, target, statement.table, tokens, statement.tail, marks)
    sources = [column.type for column in compiled.columns[1:]]
    wanted = [target.columns[place][1] for place in places]
    last: dict[EngineValue, list[EngineValue]] = {}
    for row in rows:
        values = [fitted(s, w, v) for s, w, v in zip(sources, wanted, row[1:], strict=True)]
        last[row[0]] = [row[0], *values]
    target.check_values(places, [row[1:] for row in last.values()])
    target.update(places, list(last.values()))
    return len(last)


async def delete(session: Context, statement: ast.Delete, marks: Marks) -> int:
    """Runs a DELETE; returns the number of rows."""
    target, name = _changing(session, statement.table, statement.tail)
    tokens = [word_token("select", statement.line), *_row_number(name, statement.line)]
    _, rows = await _changed(session, target, statement.table, tokens, statement.tail, marks)
    numbers = {row[0] for row in rows}
    target.delete(sorted(numbers))  # type: ignore[type-var]
    return len(numbers)


def _changing(session: Context, table: ast.Tokens, tail: ast.Tokens) -> tuple[TargetTable, str]:
    """The table that UPDATE or DELETE changes, and its name or alias in the statement."""
    if any(token.is_word("current") and after.is_word("of") for token, after in pairwise(tail)):
        raise NotSimulatedError("WHERE CURRENT OF")
    database, name = split_name(table)
    place, real = _real_name(session, tail, name)
    return TargetTable(session, client_table(session, place or database, real)), name


def _real_name(session: Context, tail: ast.Tokens, name: str) -> tuple[str, str]:
    """`update x … from db..t x`: the database and table behind an alias."""
    for place, token in enumerate(tail[1:], 1):
        start = place - 1 - tail[place - 1].is_word("as")
        before = tail[start]
        if token.text == name and before.is_identifier and not before.is_word(*RESERVED):
            while start >= 2 and (tail[start].is_operator(".") or tail[start - 1].is_operator(".")):
                start -= 1
            return split_name([part for part in tail[start:place] if not part.is_word("as")])
    return "", name


async def _changed(
    session: Context,
    target: TargetTable,
    table: ast.Tokens,
    items: list[Token],
    tail: ast.Tokens,
    marks: Marks,
) -> tuple[Compiled, list[Values]]:
    """The rows that UPDATE or DELETE changes, locked."""
    tail = list(tail)
    name = table[-1].text
    if tail and tail[0].is_word("from"):
        following = [*tail[1:], comma_token(0)]
        listed = (
            not after.is_operator(".")
            for token, after in zip(tail, following, strict=True)
            if token.text == name
        )
        if not any(listed):
            tail[1:1] = [*table, comma_token(table[0].line)]
    else:
        tail[:0] = [word_token("from", table[0].line), *table]
    compiled = compile_query(session, [*items, *tail])
    while True:
        answer: QueryResult = await run_query(session, compiled, marks, changing=target.table)
        rows = list(answer.rows)
        if not await target.lock(row[0] for row in rows):
            return compiled, rows


def _row_number(name: str, line: int) -> list[Token]:
    quoted = name.replace("'", "''")
    return [replace(token, line=line) for token in tokenize(f"row_number_of('{quoted}')")]


async def define(session: Context, statement: ast.Statement) -> None:
    """Runs CREATE, ALTER or DROP of tables and indexes, TRUNCATE TABLE, and DROP of other objects."""
    match statement:
        case ast.Truncate():
            target = TargetTable(session, client_table(session, *split_name(statement.table)))
            await target.own()
            target.truncate()
        case ast.LockTable():
            target = TargetTable(session, client_table(session, *split_name(statement.table)))
            await target.own(share=statement.share)
        case ast.CreateTable():
            _create(session, statement)
        case ast.CreateIndex():
            target = TargetTable(session, client_table(session, *split_name(statement.table)))
            add_constraint(session, target.table, statement.index)
        case ast.AlterTable():
            await _alter(session, statement)
        case ast.Drop():
            for tokens in statement.names:
                await _drop(session, statement.kind, tokens)


def _create(session: Context, statement: ast.CreateTable) -> None:
    database, name = split_name(statement.table)
    identity = next((column.name for column in statement.columns if column.identity), "")
    defaults = {column.name: column.default for column in statement.columns if column.default is not None}
    columns = [
        (column.name, _kept_type(column.type, nullable=column.nullable)) for column in statement.columns
    ]
    not_null = frozenset(
        column.name for column in statement.columns if not column.nullable and not column.identity
    )
    create_table(session, database, name, columns, identity, defaults, not_null, statement.constraints)


async def _alter(session: Context, statement: ast.AlterTable) -> None:
    target = TargetTable(session, client_table(session, *split_name(statement.table)))
    await target.own()
    table = target.table
    columns, not_null, defaults = dict(table.columns), set(table.not_null), dict(table.defaults)
    values: dict[str, EngineValue] = {}
    for column in statement.added:
        if column.name in columns:
            raise SqlError(2705, column.name, table.name)
        if column.identity or (column.default is None and not column.nullable):
            raise SqlError(4997, table.name, column.name)
        columns[column.name] = _kept_type(column.type, nullable=column.nullable)
        if column.default is not None:
            source, value = await evaluate(session, column.default)
            defaults[column.name] = column.default
            values[column.name] = fitted(source, columns[column.name], value)
        if not column.nullable:
            not_null.add(column.name)
    modified = {name for name, *_ in (*statement.modified, *statement.defaults)}
    for name in {*statement.dropped, *modified} - columns.keys():
        raise SqlError(4924, name, table.name)
    for name in statement.dropped:
        if any(name in each.columns for each in table.constraints):
            raise SqlError(4924, name, table.name)
        del columns[name]
        defaults.pop(name, None)
        not_null.discard(name)
    for name, type_, nullable in statement.modified:
        if nullable is not None:
            (not_null.discard if nullable else not_null.add)(name)
        old = columns[name]
        wanted = type_ or replace(old, name=old.declared or old.name, declared=None)
        columns[name] = _kept_type(wanted, nullable=name not in not_null)
    for name, tokens in statement.defaults:
        defaults[name] = tokens or [word_token("null", statement.line)]
    if statement.added or statement.dropped or statement.modified:
        rebuild(session, table, list(columns.items()), frozenset(not_null), values=values)
    before, table.defaults = table.defaults, defaults
    session.transactions.record(lambda: setattr(table, "defaults", before))
    for constraint in statement.constraints:
        add_constraint(session, table, constraint)
    for name in statement.dropped_constraints:
        drop_constraint(session, table, name)


def _kept_type(type_: Type, *, nullable: bool) -> Type:
    """Strings of fixed length that may be NULL are kept, and sent, without padding."""
    if nullable and type_.name == "bit":
        raise NotSimulatedError("a bit column that allows NULL, of which ASE has none")
    varying = _VARYING.get(type_.name) if nullable else None
    return replace(type_, name=varying, declared=type_.name) if varying else type_


async def _drop(session: Context, kind: str, tokens: ast.Tokens) -> None:
    """Drops an object; raises SqlError 3701."""
    database, name = split_name(tokens)
    key = (database or session.database, name)
    made = session.shared.procedures
    if kind == "table":
        if name not in session.temporary and session.shared.permanent.find(*key) is not None:
            await TargetTable(session, client_table(session, database, name)).own()
        drop_table(session, database, name)
    elif kind in ("procedure", "function"):
        if key not in made or (made[key].returns is not None) != (kind == "function"):
            raise SqlError(3701, kind, name)
        del made[key]
    elif kind == "database":
        drop_database(session, name)
    elif kind == "index" and len(tokens) > 2:
        table = client_table(session, *split_name(tokens[:-2]))
        drop_constraint(session, table, tokens[-1].text)
    elif kind not in ("view", "trigger", "rule", "default", "index"):
        raise NotSimulatedError(f"DROP {kind.upper()}")
    else:
        raise SqlError(3701, kind, name)


async def into(session: Context, compiled: Compiled, answer: QueryResult) -> int:
    """SELECT INTO: a new table with the query's columns and rows."""
    assert compiled.into is not None
    node = compiled.into
    columns = [(column.name, column.type) for column in compiled.columns]
    if any(not column for column, _ in columns):
        raise SqlError(1121)
    not_null = frozenset(column.name for column in compiled.columns if not column.nullable)
    identity = next((column.name for column in compiled.columns if column.identity), "")
    made = create_table(session, node.catalog, table_name(node), columns, identity, not_null=not_null)
    rows = list(answer.rows)
    await TargetTable(session, made).insert(rows)
    return len(rows)


def word_token(text: str, line: int) -> Token:
    """A generated keyword or name."""
    return Token(Kind.WORD, text, line, 0, 0)


def comma_token(line: int) -> Token:
    """A generated comma."""
    return Token(Kind.OPERATOR, ",", line, 0, 0)
