"""Runs compiled queries: loads tables, checks permissions and options, converts rows for the client."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from ase_simulator.contracts import Row
from ase_simulator.results import Column, Message, Rows
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.sql.compile.compiler import Compiled, QueryCompiler
from ase_simulator.sql.compile.expressions import variable_key
from ase_simulator.sql.context import Context
from ase_simulator.sql.dictionary.tables import DERIVED
from ase_simulator.sql.errors import SqlError, message
from ase_simulator.sql.execute.set_options import isolation_of
from ase_simulator.sql.state.engine import values
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.grammar import parse_select
from ase_simulator.sql.syntax.lexer import Kind
from ase_simulator.sql.types.values import EngineValue, from_engine

_SA_ONLY = frozenset({"sysmonitors"})
_LARGE = frozenset({"text", "unitext", "image"})
_LOCK_POLL_SECONDS = 0.05
Values = tuple[EngineValue, ...]


@dataclass(slots=True)
class QueryResult:
    """The result of a query. notice: a message that accompanies an empty result set, such as 12036."""

    compiled: Compiled
    rows: Iterator[Values]
    notice: Message | None = None


def compile_query(session: Context, query: ast.Query) -> Compiled:
    """Compiles a query for a session, if it was not compiled for the same tables and variables; raises SqlError."""
    if query.compiled is not None and query.compiled.holds_for(session):
        found: Compiled = query.compiled
        return found
    words = [
        token.text.lower() if token.kind is Kind.WORD or token.kind is Kind.NUMBER else ""
        for token in query.tokens
    ]
    isolation = isolation_of(words[words.index("isolation") + 1 :]) if "isolation" in words else None
    # The compiler changes the tree.
    tree, query.tree = query.tree or parse_select(query.tokens), None
    compiled = query.compiled = QueryCompiler(session).query(tree)
    compiled.isolation = isolation
    return compiled


async def run_query(session: Context, compiled: Compiled, changing: ClientTable | None = None) -> QueryResult:
    """Loads tables and runs; raises SqlError. Returns with the first rows, the others are read lazily.

    changing: a table whose rows the caller locks. Rows of clients' tables are all read at once.
    """
    level = session.settings.isolation if compiled.isolation is None else compiled.isolation
    await _lock_tables(session, compiled, changing, level)
    handles: dict[str, str] = {}
    notice = None
    for load in compiled.loads:
        check_rights(session, load.table, load.database or session.database)
        while load.table.name in session.server.faults.locked_tables and level:
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        if seconds := session.server.faults.slow_tables.get(load.table.name):
            limit = session.server.faults.elapsed_limit or seconds
            await asyncio.sleep(min(seconds, limit))
            if seconds > limit:
                raise SqlError(11056, round(limit))
        missing = missing_switches(session, load.table)
        rows: Iterable[Row] = []
        if missing:
            notice = notice or _switched_off(session, load.table, missing)
        else:
            rows = table_rows(session, load.table, load.database or session.database, load.used)
            rows = _altered(session, load.table, rows)
        if compiled.plain and not session.settings.rowcount:
            return QueryResult(compiled, iter(list(values(load.table, rows, compiled.plain))), notice)
        handles[load.handle] = session.engine.load(load.table, rows, load.used, load.database)
    sql = compiled.sql
    for handle, name in handles.items():
        sql = sql.replace(handle, name)
    variables = {variable_key(name): session.variable_value(name) for name in compiled.variables}
    if session.settings.rowcount and compiled.into is None:
        sql = f"SELECT * FROM ({sql}) LIMIT {session.settings.rowcount}"
    try:
        first, rest = await asyncio.to_thread(session.engine.first_rows, sql, variables)
    except asyncio.CancelledError:
        session.engine.interrupt()
        raise
    answer: Iterator[Values] = chain(first, rest)
    return QueryResult(compiled, iter(list(answer)) if compiled.client_tables else answer, notice)


async def _lock_tables(
    session: Context, compiled: Compiled, changing: ClientTable | None, level: int
) -> None:
    """Waits for other sessions' changes of the tables that a query reads, unless its isolation level is 0."""
    for table in compiled.client_tables:
        table.reads += 1
        if table is not changing and not table.temporary and level:
            key = (session.names.databases().get(table.table.scope, 0), table.number)
            await session.locks.read(session.locker, key)


def result_set(
    columns: Sequence[Column], rows: Iterable[Values], failed: list[SqlError], textsize: int = 32768
) -> Rows:
    """Converts rows for the client; an error that ends them early is appended to `failed`."""
    cut = [index for index, column in enumerate(columns) if column.type.name in _LARGE]
    converters = [from_engine(column.type) for column in columns]
    changing = [(index, convert) for index, convert in enumerate(converters) if convert is not None]

    def shaped() -> Iterator[Sequence[object]]:
        try:
            for row in rows:
                shown: list[object] = list(row)
                for index, convert in changing:
                    shown[index] = convert(row[index])
                for index in cut:
                    value = shown[index]
                    shown[index] = value[:textsize] if isinstance(value, str | bytes) else value
                yield shown
        except SqlError as error:
            failed.append(error)

    return Rows(columns, shaped())


def table_rows(
    session: Context, table: TableDefinition, database: str, used: tuple[str, ...]
) -> Iterable[Row]:
    """The rows of a table as of now, with the used columns, from the model, the schema or the configuration."""
    derive = DERIVED.get(table.name)
    if derive is not None:
        return derive(session, database, used)
    if table.stateful:
        return session.unseen(table.name, session.server.table(table.name))
    return session.server.table(table.name, used)


def _altered(session: Context, table: TableDefinition, rows: Iterable[Row]) -> Iterable[Row]:
    """The rows as faults alter them, and those of all instances that the session sees."""
    faults = session.server.faults
    altered = {
        column: value
        for name, value in faults.column_values.items()
        for owner, _, column in [name.partition(".")]
        if owner == table.name
    }
    if altered:
        rows = [{**row, **altered} for row in rows]
    name = next((name for name in ("InstanceID", "instanceid") if name in table.by_name), "")
    if session.profile.cluster and name:
        every = session.settings.system_view == "cluster" and name == "InstanceID"
        seen = range(1, faults.instances + 1) if every else (1,)
        rows = [{**row, name: instance} for row in rows for instance in seen]
    return rows


def check_rights(session: Context, table: TableDefinition, database: str) -> None:
    """Raises SqlError 10353 without mon_role for a monitoring table, 10330 for a table that the login may not read.

    The server's own procedures may read all."""
    if session.frame.system:
        return
    if table.needs_role and "mon_role" not in session.roles:
        raise SqlError(10353, "mon_role")
    readers = session.shared.readers.get(
        (database, table.name), set() if table.name in _SA_ONLY else {"public"}
    )
    if not readers & {"public", session.login.name, *session.roles} and "sa_role" not in session.roles:
        raise SqlError(10330, "SELECT", table.name, database, "dbo")


def missing_switches(session: Context, table: TableDefinition) -> list[str]:
    """Options that a monitoring table needs and that are off; options that the version lacks are ignored."""
    if not table.needs or session.frame.system:
        return []
    return [name for name in table.needs if not session.server.run_value(name, 1)]


def _switched_off(session: Context, table: TableDefinition, missing: Sequence[str]) -> Message:
    wanted = ", ".join(f"'{name}'" for name in missing)
    if session.profile.level < (15, 7, 0, 0, 0):
        return message(12052, table.name, wanted)
    return message(12036, 1 if session.profile.cluster else 0, table.name, wanted)
