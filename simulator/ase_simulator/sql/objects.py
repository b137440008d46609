"""Ids and names of objects: system tables, monitoring tables, the workload's tables, what clients made."""

import zlib
from typing import TYPE_CHECKING

from ase_simulator.schema.catalog import Catalog

if TYPE_CHECKING:
    from ase_simulator.sql.session import SqlSession

# the ids that these tables have in every ASE
_FIXED = {
    "sysobjects": 1, "sysindexes": 2, "syscolumns": 3, "systypes": 4, "sysprocedures": 5, "syscomments": 6,
    "syssegments": 7, "syslogs": 8, "sysprotects": 9, "sysusers": 10, "sysalternates": 11, "sysdepends": 12,
    "syskeys": 13, "sysreferences": 15, "systabstats": 23, "sysattributes": 21, "syspartitions": 28,
    "systhresholds": 20, "sysconstraints": 18, "sysroles": 19,
}  # fmt: skip
_FIRST_OTHER = 30
_FIRST_MONITORING = 1_420_529_063
_STEP = 32_000_114
_GREATEST = 2_147_000_000


def catalog_numbers(catalog: Catalog) -> dict[str, int]:
    """Ids of the tables that every server has."""
    others = [t.name for t in catalog.tables.values() if not t.monitoring and t.name not in _FIXED]
    numbers = dict(_FIXED) | {name: _FIRST_OTHER + place for place, name in enumerate(others)}
    for place, table in enumerate(catalog.monitoring_tables()):
        numbers[table.name] = (_FIRST_MONITORING + place * _STEP) % _GREATEST
    return numbers


def hashed(name: str) -> int:
    """A steady id for what has none of its own."""
    return zlib.crc32(name.encode()) >> 1


class ObjectNames:
    """Names and ids as one session sees them; the workload's tables are asked for once a statement."""

    def __init__(self, session: "SqlSession") -> None:
        self._session = session
        self._names: dict[tuple[str, int], str] | None = None

    def forget(self) -> None:
        """A new statement begins: tables may have come or gone."""
        self._names = None

    def name(self, number: int, database: str) -> str | None:
        """The name of an object id in a database."""
        found = self._workload().get((database, number))
        if found is not None:
            return found
        backend = self._session.backend
        known = {value: name for name, value in backend.numbers.items()}
        return backend.permanent.name_of(number) or known.get(number)

    def number(self, name: str, database: str) -> int | None:
        """The id of an object in a database."""
        session = self._session
        for (place, number), known in self._workload().items():
            if (place, known) == (database, name):
                return number
        if name in session.temporary:
            return hashed(name)
        permanent = session.backend.permanent.find(database, name)
        if permanent is not None:
            return permanent.number
        if session.backend.catalog.find(name, database) is not None:
            return session.backend.numbers[name]
        if session.knows_procedure(name, database):
            return hashed(name)
        return None

    def _workload(self) -> dict[tuple[str, int], str]:
        if self._names is None:
            self._names = {
                (str(row["database"]), int(str(row["id"]))): str(row["name"])
                for row in self._session.server.table("sysobjects")
            }
        return self._names
