"""Runs compiled queries: loads what they read, checks rights and switches, shapes the rows for the client."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ase_simulator.results import Column, Message, Rows
from ase_simulator.schema.catalog import Table
from ase_simulator.sql.compiler import Compiled, Compiler
from ase_simulator.sql.derived import DERIVED
from ase_simulator.sql.errors import SqlError, message
from ase_simulator.sql.expressions import variable_key
from ase_simulator.sql.grammar import parse_select
from ase_simulator.sql.lexer import Token
from ase_simulator.sql.values import EngineValue, from_engine

if TYPE_CHECKING:
    from ase_simulator.sql.session import SqlSession

_log = logging.getLogger(__name__)
_GUARDED = frozenset({"sysmonitors"})
Values = tuple[EngineValue, ...]


@dataclass(slots=True)
class Answer:
    """What a query gave. notice: 12036 and its kin, which arrive together with an empty result set."""

    compiled: Compiled
    rows: Iterator[Values]
    notice: Message | None = None


def compile_query(session: "SqlSession", tokens: Sequence[Token]) -> Compiled:
    """A query against what this session sees; raises SqlError."""
    return Compiler(session).query(parse_select(tokens))


async def run_query(session: "SqlSession", compiled: Compiled, marks: Sequence[EngineValue] = ()) -> Answer:
    """Loads and runs; raises SqlError. The first rows are there when it returns, the rest follows as read."""
    handles: dict[str, str] = {}
    notice = None
    for load in compiled.loads:
        check_rights(session, load.table)
        missing = missing_switches(session, load.table)
        rows: Iterable[Mapping[str, object]] = []
        if missing:
            notice = notice or _switched_off(session, load.table, missing)
        else:
            rows = table_rows(session, load.table, load.database or session.database)
        handles[load.handle] = session.engine.load(load.table, rows, load.used(), load.database)
    sql = compiled.sql
    for handle, name in handles.items():
        sql = sql.replace(handle, name)
    if any(number >= len(marks) for number in compiled.marks):
        raise SqlError(102, "?")
    values: dict[str, EngineValue] = {f"mark{i}": value for i, value in enumerate(marks)}
    for name in compiled.variables:
        values[variable_key(name)] = session.variable_value(name)
    if session.settings.rowcount and compiled.into is None:
        sql = f"SELECT * FROM ({sql}) LIMIT {session.settings.rowcount}"
    try:
        first, rest = await asyncio.to_thread(session.engine.first_rows, sql, values)
    except asyncio.CancelledError:
        session.engine.interrupt()
        raise
    return Answer(compiled, chain(first, rest), notice)


def result_set(columns: Sequence[Column], rows: Iterable[Values], failed: list[SqlError]) -> Rows:
    """Rows as the client gets them; what ends them early is left in `failed`, for after they are sent."""
    converters = [from_engine(column.type) for column in columns]
    changing = [(index, convert) for index, convert in enumerate(converters) if convert is not None]

    def shaped() -> Iterator[Sequence[object]]:
        try:
            for row in rows:
                values: list[object] = list(row)
                for index, convert in changing:
                    values[index] = convert(row[index])
                yield values
        except SqlError as refusal:
            failed.append(refusal)
        except (ArithmeticError, TypeError, ValueError):
            _log.exception("a value does not fit its column: %s", columns)
            failed.append(SqlError(702))

    return Rows(columns, shaped())


def table_rows(session: "SqlSession", table: Table, database: str) -> Iterable[Mapping[str, object]]:
    """The rows of a table as of now, from the model, the schema or the configuration."""
    permanent = session.backend.permanent.find(database, table.name)
    if permanent is not None:
        return permanent.as_rows()
    derive = DERIVED.get(table.name)
    if derive is not None:
        return derive(session, database)
    if session.frozen is not None and table.monitoring:
        return session.frozen.setdefault(table.name, list(session.server.table(table.name)))
    rows = session.server.table(table.name)
    return session.unseen(table.name, rows) if table.stateful else rows


def check_rights(session: "SqlSession", table: Table) -> None:
    """Raises SqlError 10353 without mon_role for a monitoring table, 10330 for what only sa_role may read."""
    if table.needs_role and "mon_role" not in session.roles:
        raise SqlError(10353, "mon_role")
    if table.name in _GUARDED and "sa_role" not in session.roles:
        raise SqlError(10330, "SELECT", table.name, "master", "dbo")


def missing_switches(session: "SqlSession", table: Table) -> list[str]:
    """The options that a monitoring table needs and that are off; those a version lacks do not count."""
    if not table.needs:
        return []
    run = {option.name: option.run for option in session.server.options()}
    return [name for name in table.needs if run.get(name, 1) == 0]


def _switched_off(session: "SqlSession", table: Table, missing: Sequence[str]) -> Message:
    wanted = ", ".join(f"'{name}'" for name in missing)
    if session.profile.level < (15, 7, 0, 0, 0):
        return message(12052, table.name, wanted)
    return message(12036, 1 if session.profile.cluster else 0, table.name, wanted)
