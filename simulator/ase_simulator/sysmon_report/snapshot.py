"""Counters at one moment, and their growth between two."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ase_simulator.contracts import Row
from ase_simulator.model.server import SimulatedServer

_TABLES = (
    "monCachePool", "monDataCache", "monDeviceIO", "monIOController", "monProcedureCache", "monResourceUsage",
    "monState", "monStatementCache", "monSysLoad", "monSysWaits", "monTask", "monThread",
)  # fmt: skip
_INT, _UNSIGNED = 2**31, 2**32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """monitors: sysmonitors by group and field name, the values of equal names in their order."""

    at: datetime
    monitors: dict[str, dict[str, list[int]]]
    tables: dict[str, list[Row]]


def take(server: SimulatedServer) -> Snapshot:
    monitors: dict[str, dict[str, list[int]]] = {}
    for row in server.table("sysmonitors"):
        fields = monitors.setdefault(str(row["group_name"]), {})
        fields.setdefault(str(row["field_name"]), []).append(number(row["value"]))
    tables = {name: list(server.table(name)) for name in _TABLES}
    return Snapshot(server.now(), monitors, tables)


@dataclass(slots=True)
class Growth:
    """Growth of the counters between two snapshots."""

    start: Snapshot
    end: Snapshot
    _before: dict[str, dict[tuple[object, ...], Row]] = field(default_factory=dict)

    @property
    def elapsed_ms(self) -> int:
        """Milliseconds between the snapshots."""
        return round((self.end.at - self.start.at).total_seconds() * 1000)

    def monitor(self, group: str, name: str) -> int:
        """A monitor counter; equal names together, each as a signed 32-bit integer that may have wrapped."""
        ends = self.end.monitors.get(group, {}).get(name, [])
        starts = self.start.monitors.get(group, {}).get(name, [])
        starts = [*starts[: len(ends)], *[0] * (len(ends) - len(starts))]
        return sum((after - before) % _UNSIGNED for before, after in zip(starts, ends, strict=True))

    def groups(self, prefix: str) -> list[int]:
        """The numbers behind a prefix of monitor groups: engine_0, engine_1... -> 0, 1..."""
        names = [name.removeprefix(prefix) for name in self.end.monitors if name.startswith(prefix)]
        return sorted(int(name) for name in names if name.isdigit())

    def rows(self, table: str, *keys: str) -> Iterator["Delta"]:
        """The rows of a table at the end, each with what it was at the start."""
        before = self._before.get(table)
        if before is None:
            rows = self.start.tables[table]
            before = self._before[table] = {tuple(row.get(key) for key in keys): row for row in rows}
        for row in self.end.tables[table]:
            yield Delta(before.get(tuple(row.get(key) for key in keys), {}), row)

    def single(self, table: str) -> "Delta":
        return next(self.rows(table), Delta({}, {}))


@dataclass(frozen=True, slots=True)
class Delta:
    """One row at both ends of the sample."""

    before: Row
    after: Row

    def __getitem__(self, column: str) -> int:
        """Growth of a counter; int columns restart at 0 after 2,147,483,647."""
        grown = number(self.after.get(column)) - number(self.before.get(column))
        return grown + _INT if grown < 0 else grown

    def text(self, column: str) -> str:
        return str(self.after.get(column, ""))

    def now(self, column: str) -> int:
        return number(self.after.get(column))


def number(value: object) -> int:
    """A counter's present value; 0 for NULL."""
    return int(value) if isinstance(value, int | float) else 0
