"""Small helpers for the tests of the model: sums over tables, and what contention they show."""

from collections.abc import Iterable

from ase_simulator.model import SimulatedServer


def total(server: SimulatedServer, table: str, column: str) -> float:
    """The sum of a column; NULL counts as 0."""
    return sum(float(row[column] or 0) for row in server.table(table))


def one(server: SimulatedServer, table: str) -> dict[str, object]:
    """The only row of a table."""
    [row] = server.table(table)
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
    for row in server.table("monSpinlockActivity"):
        grabs, waits = sums.get(row["SpinlockName"], (0.0, 0.0))
        sums[row["SpinlockName"]] = (grabs + row["Grabs"], waits + row["Waits"])
    return sums
