"""The scenario `hostile`, a first day on a server that differs from the manuals, with default settings."""

from pathlib import Path

import pytest
from tests.e2e.evaluation import timeline
from tests.e2e.simulated_time import read_for_rules, record
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import Simulated, run, scraper_of
from tests.faults.scraping import failed, scrape
from tests.paths import REPOSITORY
from tests.versions import VERSIONS

from ase_exporter.config import Scrape
from ase_simulator.schema.profiles import profiles

SCENARIOS = REPOSITORY / "simulator" / "ase_simulator" / "scenarios"
# Columns of another type than the manual says cost the metrics made from them.
UNREADABLE = {"databases": "unreadable"}


def scenario(folder: Path) -> str:
    """The scenario with fewer spinlocks, for the sake of time."""
    text = (SCENARIOS / "hostile.yaml").read_text()
    assert "lock hashtable size: 524288" in text
    (folder / "hostile.yaml").write_text(
        text.replace("lock hashtable size: 524288", "lock hashtable size: 2048")
    )
    return str(folder / "hostile.yaml")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_collector_that_can_be_read_is_read(version: str, tmp_path: Path) -> None:
    shifted = ShiftedClock()
    limits = Scrape(connect_timeout=60.0)
    with run(version, scenario(tmp_path), speed=0.0) as server:
        scraper = scraper_of(server.address, encrypt_password=True, clock=shifted, limits=limits)
        for after, step in (
            (15.0, "odd, but up"),
            (15.0, "odd, but up"),
            (105.0, "catalogue rows are locked by alter database"),
            (300.0, "monLocks is slow"),
        ):
            before = cpu_ms(server)
            server.advance(after)
            # Those of the wire, such as the login trigger.
            server.faults.become(server.model.faults)
            shifted.ahead += after
            seen = scrape(scraper, clock=shifted)
            assert server.model.world.step.name == step
            assert (seen.summary.up, seen.error_kind) == (True, "")
            assert failed(seen) == UNREADABLE
            assert set(seen.unavailable.values()) <= {"version"}
            if before:
                # Of the 15 seconds between two scrapes.
                assert cpu_ms(server) - before < 15_000 * 0.001
        assert scraper.cost.connects == 1
        scraper.close()
    expected = {"state", "spinlocks", "locks", "database_states"}
    assert expected <= seen.collected.keys() | seen.unavailable.keys()


def cpu_ms(server: Simulated) -> float:
    """CPU time of all client sessions, as the simulator accounts for it."""
    return float(sum(client.cpu_ms for client in server.model.world.sessions.clients.values()))


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
