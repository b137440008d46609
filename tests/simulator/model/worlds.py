"""Helpers for tests of the model: rows with values of any type, sums over tables, contention of spinlocks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ase_simulator.model import SimulatedServer


def rows_of(server: SimulatedServer, name: str) -> Sequence[Mapping[str, Any]]:
    """The rows of a table; tests know the types of its columns."""
    return list(server.table(name))


def total(server: SimulatedServer, name: str, column: str) -> float:
    """The sum of a column; NULL counts as 0."""
    return sum(float(row[column] or 0) for row in rows_of(server, name))


def one(server: SimulatedServer, name: str) -> dict[str, Any]:
    """The only row of a table."""
    [row] = rows_of(server, name)
    return dict(row)


def contention(server: SimulatedServer, seconds: float, names: Iterable[str]) -> dict[str, float]:
    """Contention in percent of each spinlock name over the next seconds."""
    before = _sums(server)
    server.advance(seconds)
    after = _sums(server)
    return {
        name: 100 * (after[name][1] - before[name][1]) / (after[name][0] - before[name][0]) for name in names
    }


def _sums(server: SimulatedServer) -> dict[str, tuple[float, float]]:
    sums: dict[str, tuple[float, float]] = {}
    for row in rows_of(server, "monSpinlockActivity"):
        grabs, waits = sums.get(row["SpinlockName"], (0.0, 0.0))
        sums[row["SpinlockName"]] = (grabs + row["Grabs"], waits + row["Waits"])
    return sums
