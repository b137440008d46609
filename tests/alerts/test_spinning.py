"""The estimate of CPU spent in spin loops, and its calibration, are as accurate as alerts/README.md says.

On the memscale runs, whose simulated server knows how many of its engines spin.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.simulator.model.worlds import one, total

from ase_exporter.rules.parameters import parameters
from ase_simulator.model import SimulatedServer, load_scenario

SECONDS_PER_SPIN = float(parameters()["spinlock.seconds_per_spin"])
RUNS = 10
RUN_SECONDS = 600
MEASURED_SECONDS = 240


class Work(NamedTuple):
    """A run at one load: iterations of spin loops per second, CPU seconds of the engines and spins per transaction, and
    engines that truly spin."""

    spins: float
    cpu_per_transaction: float
    spins_per_transaction: float
    spinning: float


def counters(server: SimulatedServer) -> list[float]:
    cpu = total(server, "monEngine", "UserCPUTime") + total(server, "monEngine", "SystemCPUTime")
    return [
        total(server, "monSpinlockActivity", "Spins"),
        cpu,
        float(str(one(server, "monState")["Transactions"])),
    ]


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
        spinning = server.world.operation.point.spinning
        found.append(Work(spins / MEASURED_SECONDS, cpu / transactions, spins / transactions, spinning))
        server.advance(RUN_SECONDS / 2 - MEASURED_SECONDS)
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, list[Work]]:
    return {users: runs(users, tmp_path_factory.mktemp("memscale")) for users in (400, 800)}


def test_the_estimate_is_what_truly_spins(measured: Mapping[int, list[Work]]) -> None:
    for work in (each for found in measured.values() for each in found):
        assert work.spins * SECONDS_PER_SPIN == pytest.approx(work.spinning, rel=0.001)


def test_two_loads_of_the_same_work_give_the_cost_of_a_spin_where_spinning_costs_enough(
    measured: Mapping[int, list[Work]],
) -> None:
    pairs = [
        (low, high)
        for low, high in zip(measured[400], measured[800], strict=True)
        if SECONDS_PER_SPIN * high.spins_per_transaction > 0.01 * high.cpu_per_transaction
    ]
    assert len(pairs) == 6
    for low, high in pairs:
        cpu = high.cpu_per_transaction - low.cpu_per_transaction
        calibrated = cpu / (high.spins_per_transaction - low.spins_per_transaction)
        assert calibrated == pytest.approx(SECONDS_PER_SPIN, rel=0.04)
