"""Scenarios in which something goes wrong: each alert fires and resolves when alerts/scenarios.md says, and no other.

The table there says for each of them what the scenario does that calls for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e.simulated_time import STEP, Deed, Recording, record, timeline
from tests.e2e.told import differences, documented, until

from ase_simulator.model import SimulatedServer

pytestmark = [pytest.mark.e2e]


@dataclass(frozen=True)
class Play:
    """How long a scenario is watched, in simulated seconds; patience and deeds as `record` takes them."""

    seconds: int
    patience: float | None = None
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
    "failures": Play(1230, patience=5.0),
}
# How much of a scenario is enough to see it tell something.
BEGINNINGS = {"storm": 840, "vldb": 720}


def played(scenario: str, patch: pytest.MonkeyPatch, lag: int = STEP) -> Recording:
    """All of a scenario, lived through."""
    play = PLAYS[scenario]
    return record(scenario, play.seconds, patch, patience=play.patience, deeds=play.deeds, lag=lag)


def test_the_table_has_every_scenario() -> None:
    assert set(documented()) == set(PLAYS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", BEGINNINGS)
def test_the_beginning_is_told_as_documented(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = BEGINNINGS[scenario]
    told = timeline(record(scenario, end, monkeypatch), tmp_path)
    assert told == until(documented()[scenario], end)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", PLAYS)
def test_all_of_it_is_told_as_documented(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timeline(played(scenario, monkeypatch), tmp_path) == documented()[scenario]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", PLAYS)
def test_where_scrapes_fall_changes_no_alert_and_its_times_by_half_a_minute_at_most(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = timeline(played(scenario, monkeypatch, lag=2 * STEP), tmp_path)
    assert differences(documented()[scenario], told, PLAYS[scenario].seconds, tolerance=30) == []
