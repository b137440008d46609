"""Ids and names of objects: system, monitoring and workload tables, client objects."""

import zlib
from collections.abc import Mapping

from ase_simulator.schema.catalog import Catalog
from ase_simulator.sql.lookup.snapshot import Snapshot
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.tables import ClientTable

# Fixed ids of ASE.
_FIXED = {
    "sysobjects": 1, "sysindexes": 2, "syscolumns": 3, "systypes": 4, "sysprocedures": 5, "syscomments": 6,
    "syssegments": 7, "syslogs": 8, "sysprotects": 9, "sysusers": 10, "sysalternates": 11, "sysdepends": 12,
    "syskeys": 13, "sysreferences": 15, "systabstats": 23, "sysattributes": 21, "syspartitions": 28,
    "systhresholds": 20, "sysconstraints": 18, "sysroles": 19,
}  # fmt: skip
_FIRST_SYSTEM = 30
_FIRST_MONITORING = 1_420_529_063
_STEP = 32_000_114
_MAX_ID = 2_147_000_000


def catalog_object_ids(catalog: Catalog) -> dict[str, int]:
    """Ids of the tables that every server has."""
    others = [t.name for t in catalog.tables.values() if not t.monitoring and t.name not in _FIXED]
    numbers = dict(_FIXED) | {name: _FIRST_SYSTEM + place for place, name in enumerate(others)}
    for place, table in enumerate(catalog.monitoring_tables()):
        numbers[table.name] = (_FIRST_MONITORING + place * _STEP) % _MAX_ID
    return numbers


def hashed(name: str) -> int:
    """A stable id for objects without one."""
    return zlib.crc32(name.encode()) >> 1


class ObjectIds:
    """Names and ids of objects for one session. tables: those of the server, with the workload's objects."""

    def __init__(self, tables: Snapshot, shared: ServerState, temporary: Mapping[str, ClientTable]) -> None:
        self._tables = tables
        self._shared = shared
        self._temporary = temporary
        self._known: dict[str, dict[int, str]] = {}

    def refresh(self) -> None:
        """A new statement begins: tables may have been created or dropped."""
        self._known = {}

    def name(self, number: int, database: str) -> str | None:
        """The name of an object id in a database."""
        for row in self._tables.rows("sysobjects", "id", number):
            if row["database"] == database:
                return str(row["name"])
        if database not in self._known:
            shared = self._shared
            known = {value: name for name, value in shared.object_ids.items()}
            self._known[database] = known | {
                held.number: held.name for held in shared.permanent.by_name.values()
            }
        return self._known[database].get(number)

    def number(self, name: str, database: str) -> int | None:
        """The id of an object in a database."""
        for row in self._tables.rows("sysobjects", "name", name):
            if row["database"] == database:
                return int(str(row["id"]))
        if name in self._temporary:
            return self._temporary[name].number
        shared = self._shared
        permanent = shared.permanent.find(database, name)
        if permanent is not None:
            return permanent.number
        if shared.catalog.find(name, database) is not None:
            return shared.object_ids[name]
        if name in shared.system_procedures:
            return hashed(name)
        return None
