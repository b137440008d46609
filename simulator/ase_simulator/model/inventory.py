"""Databases, devices, tables and logins of the server, with the ids that all system tables share."""

from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from ase_simulator.model.workload import Database, Object, Workload

_SYSTEM_DATABASES = {"master": (1, 26), "tempdb": (2, 2048), "model": (3, 6), "sybsystemdb": (31513, 6)}
_PROCEDURES = {"sybsystemprocs": (31514, 196)}
_FIRST_DATABASE = 4
_SYSTEM_OBJECTS = {
    name: number
    for number, name in enumerate(
        ["sysobjects", "sysindexes", "syscolumns", "systypes", "sysprocedures", "syscomments"], start=1
    )
} | {"syslogs": 8, "sysusers": 10, "sysstatistics": 23, "systabstats": 24, "syspartitions": 28}


@dataclass(frozen=True, slots=True)
class Device:
    """A database device. size_mb; log: it holds a log."""

    number: int
    name: str
    path: str
    size_mb: int
    database: str
    log: bool


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """A table of the workload with its ids. indexes: ids of data (0) and indexes (2...)."""

    object: Object
    database_id: int
    object_id: int
    position: int
    indexes: tuple[int, ...]

    def partition_id(self, index: int) -> int:
        """The id of the only partition of one of its indexes."""
        return self.object_id + index * 16


class Inventory:
    """Fixed for the life of a scenario."""

    def __init__(self, workload: Workload, page_kb: int) -> None:
        self._workload = workload
        self.page_kb = page_kb

    @cached_property
    def databases(self) -> dict[str, int]:
        """Name -> id, in the order of ids."""
        known = {name: number for name, (number, _) in _SYSTEM_DATABASES.items()}
        ids = {name: number for name, number in known.items() if number < _FIRST_DATABASE}
        own = dict.fromkeys([d.name for d in self._workload.databases])
        own |= dict.fromkeys([o.database for o in self._workload.objects if o.database not in known])
        ids |= {name: _FIRST_DATABASE + index for index, name in enumerate(own)}
        return ids | {"sybsystemdb": known["sybsystemdb"], "sybsystemprocs": _PROCEDURES["sybsystemprocs"][0]}

    @cached_property
    def own_databases(self) -> list[Database]:
        """The users' databases with their sizes."""
        sized = {database.name: database for database in self._workload.databases}
        system = {*_SYSTEM_DATABASES, *_PROCEDURES}
        return [sized.get(name, Database(name=name)) for name in self.databases if name not in system]

    @cached_property
    def devices(self) -> list[Device]:
        """The devices of the system databases, then data and log devices of each other database."""
        named = [("master", "master", 60), ("tempdbdev", "tempdb", 2048), ("systemdbdev", "sybsystemdb", 24)]
        named.append(("sysprocsdev", "sybsystemprocs", 200))
        found = [
            Device(number, name, f"/sybase/data/{name}.dat", size, database, False)
            for number, (name, database, size) in enumerate(named)
        ]
        for database in self.own_databases:
            for index in range(database.data_devices):
                name = f"{database.name}_dat{index + 1:02d}"
                size = database.data_mb // database.data_devices
                found.append(Device(len(found), name, f"/sybase/data/{name}.dat", size, database.name, False))
            name = f"{database.name}_log01"
            found.append(
                Device(len(found), name, f"/sybase/log/{name}.dat", database.log_mb, database.name, True)
            )
        return found

    @cached_property
    def tables(self) -> list[WorkloadTable]:
        return [self._table(position, entry) for position, entry in enumerate(self._workload.objects)]

    def _table(self, position: int, entry: Object) -> WorkloadTable:
        known = _SYSTEM_OBJECTS.get(entry.name)
        hashed = 100_000_000 + crc32(f"{entry.database}.{entry.name}".encode()) % 1_900_000_000 // 32 * 32
        return WorkloadTable(
            entry,
            self.databases[entry.database],
            known or hashed,
            position,
            (0, *range(2, 2 + entry.indexes)),
        )
