"""Scenarios with faults: exactly the alerts in alerts/scenarios.md fire, and they fire and resolve when it says.

The table there gives the reason for each of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e.evaluation import timeline
from tests.e2e.expected_timeline import differences, documented, until
from tests.e2e.simulated_time import STEP, Deed, Recording, record

from ase_simulator.model import SimulatedServer

pytestmark = [pytest.mark.e2e]


@dataclass(frozen=True)
class Play:
    """How long a scenario is observed, in simulated seconds; scrape_timeout and deeds as for `record`."""

    seconds: int
    scrape_timeout: float | None = None
    deeds: Mapping[int, Deed] = field(default_factory=dict)


def finer_address_locks(server: SimulatedServer) -> None:
    server.set_option("lock address spinlock ratio", 5, "sa")


def finer_descriptors(server: SimulatedServer) -> None:
    for name in ("open object", "open index", "open index hash", "partition"):
        server.set_option(f"{name} spinlock ratio", 5, "sa")


def own_cache_for_system_tables(server: SimulatedServer) -> None:
    server.configure_cache("system tables cache", size_kb=2 * 1024**2, strategy="relaxed")
    for table in ("sysobjects", "sysindexes", "syscolumns", "systabstats", "sysstatistics"):
        server.bind_cache("system tables cache", "claims", table)


def own_cache_for_key_tables(server: SimulatedServer) -> None:
    server.configure_cache("key tables cache", size_kb=64 * 1024**2, strategy="relaxed")
    for table in ("claim", "claim_line"):
        server.bind_cache("key tables cache", "claims", table)


# The case study's order, twenty minutes each.
TUNING: Mapping[int, Deed] = {
    1200: finer_address_locks,
    2400: finer_descriptors,
    3600: own_cache_for_system_tables,
    4800: own_cache_for_key_tables,
}
PLAYS = {
    "storm": Play(1500),
    "vldb": Play(6000, deeds=TUNING),
    "memscale": Play(6000),
    # Once through all of its faults.
    "failures": Play(1230, scrape_timeout=5.0),
}
# Long enough for the first alerts to fire.
BEGINNINGS = {"storm": 840, "vldb": 720}


def played(scenario: str, lag: int = STEP) -> Recording:
    """The recording of a whole scenario."""
    play = PLAYS[scenario]
    return record(scenario, play.seconds, scrape_timeout=play.scrape_timeout, deeds=play.deeds, lag=lag)


def test_the_table_has_every_scenario() -> None:
    assert set(documented()) == set(PLAYS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", BEGINNINGS)
def test_the_alerts_of_the_beginning_are_as_documented(scenario: str, tmp_path: Path) -> None:
    end = BEGINNINGS[scenario]
    alerts = timeline(record(scenario, end), tmp_path)
    assert alerts == until(documented()[scenario], end)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", PLAYS)
def test_all_alerts_are_as_documented(scenario: str, tmp_path: Path) -> None:
    assert timeline(played(scenario), tmp_path) == documented()[scenario]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", PLAYS)
def test_the_moment_of_scrapes_moves_alerts_by_half_a_minute_at_most(scenario: str, tmp_path: Path) -> None:
    alerts = timeline(played(scenario, lag=2 * STEP), tmp_path)
    assert differences(documented()[scenario], alerts, PLAYS[scenario].seconds, tolerance=30) == []
