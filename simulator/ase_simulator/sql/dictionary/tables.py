"""System tables whose rows follow from the schema, the configuration, logins and clients' objects: tables.yaml."""

import csv
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.resources import files
from typing import Any

from ase_simulator.contracts import Row
from ase_simulator.model.server import SimulatedServer
from ase_simulator.schema.catalog import ColumnDefinition, TableDefinition
from ase_simulator.schema.sheets import Sheet
from ase_simulator.schema.types import TYPE_NUMBERS, byte_length
from ase_simulator.sql.context import Context
from ase_simulator.sql.logins import ROLES
from ase_simulator.yaml_text import load_yaml

_HIDDEN = frozenset({"simCacheBindings", "simGuests"})
_CACHES = 19
_LOCKED = 2


def size(table: TableDefinition) -> int:
    """monTables.Size: bytes of a row."""
    return sum(byte_length(column.type) for column in table.columns)


def parameters(table: TableDefinition) -> list[ColumnDefinition]:
    """The columns that make a query of a monitoring table cheap in its WHERE clause."""
    return [table.by_name[name] for name in table.parameters if name in table.by_name]


def sections(server: SimulatedServer) -> dict[str, int]:
    """The sections of configuration options with their numbers, of which one is the caches'."""
    names = dict.fromkeys(option.section for option in server.options())
    return {name: number + (number >= _CACHES) for number, name in enumerate(names, 1)}


def system_tables(session: Context, database: str) -> Iterator[TableDefinition]:
    """The tables that every server has in a database."""
    missing = _HIDDEN | session.server.faults.missing_tables
    for table in session.shared.catalog.tables.values():
        if table.scope in ("each", database) and table.name not in missing:
            yield table


def columns(session: Context, database: str) -> Iterator[dict[str, Any]]:
    """The columns of a database's tables; number: the table's id."""
    shared = session.shared
    every = [*system_tables(session, database), *(shared.catalog.tables[name] for name in sorted(_HIDDEN))]
    found = [(table, shared.object_ids[table.name]) for table in every]
    found += [(made.table, made.number) for made in shared.permanent.in_database(database)]
    for table, number in found:
        shown = table.altered({}, session.server.faults.missing_columns).columns
        for place, column in enumerate(shown, 1):
            yield {"number": number, "place": place, "column": column}


def logins(session: Context) -> list[Row]:
    """syslogins: the workload's logins, and those of the simulator's clients."""
    rows = {str(row["name"]): dict(row) for row in session.server.table("syslogins")}
    boot = session.server.boot_time()
    for login in session.shared.logins:
        never = dict.fromkeys(("locksuid", "lockreason", "procid", "lpid"))
        row = rows.setdefault(login.name, {"accdate": boot, "pwdate": boot, **never})
        locked = login.locked or login.name in session.server.locked_logins
        row.update(
            suid=login.suid, name=login.name, dbname=login.database, language=login.language,
            fullname=login.full_name or None, status=_LOCKED if locked else 0, logincount=login.failures,
        )  # fmt: skip
    return sorted(rows.values(), key=lambda row: int(str(row["suid"])))


@cache
def spt_values() -> list[Row]:
    """spt_values: names of lock types, device and database states."""
    text = files(__package__).joinpath("spt_values.csv").read_text(encoding="utf-8")
    texts = ("name", "type")
    return [
        {name: (value if name in texts else int(value)) if value else None for name, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]


def _rows(
    sheet: Sheet, session: Context, database: str, used: tuple[str, ...] | None = None
) -> Iterator[Row]:
    shared = session.shared
    known: dict[str, Any] = {
        "session": session,
        "database": database,
        "shared": shared,
        "server": session.server,
        "tables": shared.permanent.in_database(database),
    }
    return sheet.rows(session.server.version, _KNOWN | known, used)


def rows_of(name: str, session: Context, database: str) -> Iterable[Row]:
    """The rows of another of these tables."""
    return DERIVED[name](session, database)


_FUNCTIONS: tuple[Any, ...] = (
    byte_length, columns, logins, parameters, rows_of, sections, size, spt_values,
    system_tables,
)  # fmt: skip
_KNOWN: dict[str, Any] = {each.__name__: each for each in _FUNCTIONS} | {
    "ROLES": ROLES,
    "TYPE_NUMBERS": TYPE_NUMBERS,
}

DERIVED: dict[str, Callable[..., Iterable[Row]]] = {
    name: partial(_rows, Sheet(name, declared))
    for name, declared in load_yaml(files(__package__).joinpath("tables.yaml").read_text("utf-8")).items()
}
