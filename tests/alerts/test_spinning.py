"""The estimate of CPU spent in spin loops, and its calibration, are as accurate as alerts/README.md says.

On the memscale runs, whose simulated server knows how many of its engines spin.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.simulator.model.worlds import total

from ase_exporter.rules.parameters import parameters
from ase_simulator.model import SimulatedServer, load_scenario

SECONDS_PER_SPIN = float(parameters()["spinlock.seconds_per_spin"])
RUNS = 10
RUN_SECONDS = 600
MEASURED_SECONDS = 240


class Work(NamedTuple):
    """A run at one load: spins, CPU seconds of the engines, transactions; engines that truly spin."""

    spins: float
    cpu: float
    transactions: float
    spinning: float


def counters(server: SimulatedServer) -> tuple[float, float, float]:
    cpu = total(server, "monEngine", "UserCPUTime") + total(server, "monEngine", "SystemCPUTime")
    return total(server, "monSpinlockActivity", "Spins"), cpu, total(server, "monState", "Transactions")


def runs(users: int, directory: Path) -> list[Work]:
    """All runs with so many users."""
    text = resources.files("ase_simulator").joinpath("scenarios/memscale.yaml").read_text()
    path = directory / f"{users}.yaml"
    path.write_text(text.replace("users: 800", f"users: {users}"))
    (server,) = load_scenario(str(path), speed=0)
    found = []
    for _ in range(RUNS):
        server.advance(RUN_SECONDS / 2)
        before = counters(server)
        server.advance(MEASURED_SECONDS)
        spins, cpu, transactions = (end - start for start, end in zip(before, counters(server), strict=True))
        found.append(Work(spins, cpu, transactions, server.world.operation.point.spinning))
        server.advance(RUN_SECONDS / 2 - MEASURED_SECONDS)
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, list[Work]]:
    return {users: runs(users, tmp_path_factory.mktemp("memscale")) for users in (400, 800)}


def test_the_estimate_is_what_truly_spins(measured: Mapping[int, list[Work]]) -> None:
    for work in (each for found in measured.values() for each in found):
        estimated = work.spins / MEASURED_SECONDS * SECONDS_PER_SPIN
        assert estimated == pytest.approx(work.spinning, rel=0.001)


def test_two_loads_of_the_same_work_give_the_cost_of_a_spin_where_spinning_costs_enough(
    measured: Mapping[int, list[Work]],
) -> None:
    pairs = [
        (low, high)
        for low, high in zip(measured[400], measured[800], strict=True)
        if SECONDS_PER_SPIN * high.spins > 0.01 * high.cpu
    ]
    assert len(pairs) == 6
    for low, high in pairs:
        cpu = high.cpu / high.transactions - low.cpu / low.transactions
        spins = high.spins / high.transactions - low.spins / low.transactions
        assert cpu / spins == pytest.approx(SECONDS_PER_SPIN, rel=0.04)
