"""The scenario `hostile`, a first day on a server that differs from the manuals, with default settings."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.evaluation import timeline
from tests.e2e.simulated_time import read_for_rules, record
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import scraper_of
from tests.faults.scraping import failed, scrape
from tests.paths import REPOSITORY
from tests.simulator.tds.running import Running, running
from tests.versions import VERSIONS

from ase_exporter.config import Auth, Scrape
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.schema.profiles import profiles
from ase_simulator.simulation import simulation

SCENARIOS = REPOSITORY / "simulator" / "ase_simulator" / "scenarios"
HOST = "hostile.example"
# Columns of another type than the manual says cost the metrics made from them.
UNREADABLE = {"databases": "unreadable"}


class Hostile:
    """The server of the scenario, its time, and a scraper with default settings."""

    def __init__(self, server: SimulatedServer, run: Running) -> None:
        self.server = server
        self._run = run
        self._shifted = ShiftedClock()
        self.scraper = scraper_of(
            (HOST, run.port),
            Auth(user="ase_exporter", password="exporter"),
            encrypt_password=True,
            clock=self._shifted,
            limits=Scrape(connect_timeout=60.0),
        )

    def scrape(self, after: float = 15.0) -> ScrapeResult:
        """One scrape, that many seconds after the last one."""
        self._run.ask(partial(self.server.advance, after))
        self._shifted.ahead += after
        return scrape(self.scraper, clock=self._shifted)

    def cpu_ms(self) -> float:
        """CPU time of all client sessions, as the simulator accounts for it."""
        return sum(client.cpu_ms for client in self.server.world.sessions.clients.values())


def scenario(folder: Path) -> str:
    """The scenario with fewer spinlocks, for the sake of time."""
    text = (SCENARIOS / "hostile.yaml").read_text()
    assert "lock hashtable size: 524288" in text
    (folder / "hostile.yaml").write_text(
        text.replace("lock hashtable size: 524288", "lock hashtable size: 2048")
    )
    return str(folder / "hostile.yaml")


@contextmanager
def hostile(version: str, name: str) -> Iterator[Hostile]:
    """The scenario of that name or file on a server of that version, until the block ends."""
    (server,) = load_scenario(name, speed=0, version=version)
    with running(lambda: simulation(server, None, "127.0.0.1", 0)) as run:
        one = Hostile(server, run)
        yield one
        one.scraper.close()


@pytest.fixture(autouse=True)
def _two_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has two addresses, and the server listens on the second one."""
    resolve = socket.getaddrinfo

    def both(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        if host != HOST:
            return resolve(host, port, *args, **kwargs)
        return [*resolve("127.0.0.2", port, *args, **kwargs), *resolve("127.0.0.1", port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", both)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_collector_that_can_be_read_is_read(version: str, tmp_path: Path) -> None:
    read_through(scenario(tmp_path), version)


def read_through(name: str, version: str) -> None:
    """Scrape all steps of the scenario."""
    with hostile(version, name) as one:
        for after, step in (
            (15.0, "odd, but up"),
            (15.0, "odd, but up"),
            (105.0, "catalogue rows are locked by alter database"),
            (300.0, "monLocks is slow"),
        ):
            before = one.cpu_ms()
            seen = one.scrape(after)
            assert one.server.world.step.name == step
            assert (seen.summary.up, seen.error_kind) == (True, "")
            assert failed(seen) == UNREADABLE
            assert set(seen.unavailable.values()) <= {"version"}
            if before:
                # Of the 15 seconds between two scrapes.
                assert one.cpu_ms() - before < 15_000 * 0.001
        assert one.scraper.cost.connects == 1
        assert {
            "state",
            "spinlocks",
            "locks",
            "database_states",
        } <= seen.collected.keys() | seen.unavailable.keys()


# The truth: what is wrong with the server, and what it lacks.
TRUE_ALERTS = {
    # Databases are suspect, offline, in recovery…
    "AseDatabaseUnavailable",
    # A column of monOpenDatabases cannot be read.
    "AseCollectorFailing",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", profiles())
def test_no_alert_fires_that_is_not_true(version: str, tmp_path: Path) -> None:
    module = read_for_rules()
    recording = record(
        scenario(tmp_path), 1080, interval=30, version=version, encrypt_password=True, module=module
    )
    assert {each.alert for each in timeline(recording, tmp_path)} == TRUE_ALERTS
