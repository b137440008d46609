"""Counters continue through kills of the exporter and of its child, redeployments and damage to the saved totals."""

import contextlib
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from tests.exporter.running_exporter import RunningExporter, configuration, exporter
from tests.exporter.simulated import Simulated, run
from tests.faults.scraping import exposed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

COLLECTORS = ("state", "spinlocks", "data_caches", "engines", "waits")
TRANSACTIONS = "ase_transactions_total", ""

Totals = dict[tuple[str, str], float]


def inside(server: Simulated) -> Totals:
    """The counters inside the server."""
    model = server.model
    (state,) = model.table("monState")
    totals: Counter[tuple[str, str]] = Counter({TRANSACTIONS: int(state["Transactions"])})
    for row in model.table("monSpinlockActivity"):
        if row["Grabs"]:
            for column in ("Grabs", "Spins", "Waits"):
                totals[f"ase_spinlock_{column.lower()}_total", str(row["SpinlockName"])] += row[column]
    for row in model.table("monDataCache"):
        totals["ase_cache_searches_total", str(row["CacheName"])] += row["CacheSearches"]
    return dict(totals)


def counted(text: str) -> Totals:
    """The same counters as the exporter exposes them."""
    found: Totals = {}
    for (name, pairs), value in exposed(text).items():
        if name.startswith(("ase_spinlock_", "ase_cache_searches_total", TRANSACTIONS[0])):
            labels = dict(pairs)
            found[name, labels.get("spinlock") or labels.get("cache", "")] = value
    return found


def growth(now: Totals, first: Totals) -> Totals:
    return {key: value - first.get(key, 0) for key, value in now.items()}


@dataclass
class Deployment:
    """An exporter that is killed and started again, with one state directory."""

    server: Simulated
    directory: Path
    targets: int = 1
    running: RunningExporter | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.state = self.directory / "state"

    def start(self) -> None:
        addresses = {f"S{number}": self.server.address for number in range(self.targets)}
        state = {"STATE_DIRECTORY": str(self.state)}
        self.running = self._stack.enter_context(
            exporter(self.directory, configuration(addresses), environment=state)
        )

    def stop(self) -> None:
        self._stack.close()
        self.running = None

    def kill(self) -> None:
        assert self.running
        self.running.process.kill()
        self.stop()

    def kill_child(self) -> None:
        assert self.running
        _, child = self.running.processes()
        os.kill(child.pid, signal.SIGKILL)

    def probe(self) -> str:
        assert self.running
        return self.running.get("/probe?target=S0" + "".join(f"&collect[]={name}" for name in COLLECTORS))

    def totals(self) -> Totals:
        """From a scrape in which the server answered: right after a death one may fail."""
        for _ in range(5):
            text = self.probe()
            if re.search(r"^ase_up 1(\.0)?$", text, re.MULTILINE):
                return counted(text)
        raise AssertionError(text)

    def scrape_in_background(self) -> threading.Thread:
        """A scrape that a kill may interrupt."""

        def scrape() -> None:
            with contextlib.suppress(httpx2.HTTPError, AssertionError):
                self.probe()

        thread = threading.Thread(target=scrape)
        thread.start()
        return thread


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        deployment = Deployment(server, tmp_path)
        yield deployment
        deployment.stop()


@pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_totals_are_those_of_the_server_after_kills_and_redeployments(
    deployment: Deployment, rounds: int
) -> None:
    server, dice = deployment.server, random.Random(rounds)
    deployment.start()
    first, truth = deployment.totals(), inside(server)
    for number in range(rounds):
        for _ in range(dice.randint(3, 5)):
            server.advance(15.0)
            deployment.totals()
        in_flight = deployment.scrape_in_background() if dice.random() < 0.5 else None
        # Ten seconds in which nobody looks; not at the same place of the scrape interval.
        server.advance(10.0)
        match number % 3:
            case 0:
                deployment.kill()
                deployment.start()
            case 1:
                deployment.kill_child()
            case _:
                deployment.stop()
                deployment.targets = 1 + (deployment.targets % 3)
                deployment.start()
        if in_flight:
            in_flight.join()
        server.advance(5.0)
        assert growth(deployment.totals(), first) == growth(inside(server), truth), number


def test_without_a_state_directory_the_child_may_die_and_the_exporter_says_so(deployment: Deployment) -> None:
    # Nothing can be made below a device.
    server, deployment.state = deployment.server, Path("/dev/null/none")
    deployment.start()
    first, truth = deployment.totals(), inside(server)
    server.advance(20.0)
    deployment.kill_child()
    assert growth(deployment.totals(), first) == growth(inside(server), truth)
    assert deployment.running
    assert "ase_exporter_totals_persistent 0.0" in deployment.running.get("/metrics")
    server.advance(20.0)
    deployment.kill()
    deployment.start()
    assert set(deployment.totals().values()) == {0}
