"""What must hold for any server, on every capture in tests/captures and in the folder ASE_CAPTURES.

A contributor adds one file and nothing else.
"""

from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from tests.e2e.simulated_time import INTERVAL
from tests.exporter.capture.recorded import (
    RecordedServer,
    check_of,
    each_capture,
    loaded,
    planned,
    replay,
    scrape,
)
from tests.exporter.clocks import ShiftedClock
from tests.exporter.samples import Samples, by_name

from ase_exporter.capture.playback import NOT_RECORDED
from ase_exporter.catalogue.facts import Reason
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.replay.file import read_capture

pytestmark = pytest.mark.timeout(600)

# What a collector may be missing for: the report says so with the reason, and most often with the SQL that fixes it.
EXPLAINED = {*get_args(Reason), "loading"} - {"error"}


@cache
def scraped(path: Path) -> list[tuple[ScrapeResult, list[Family]]]:
    """The scrapes of a replay, 15 seconds apart by the exporter's clock, with all families."""
    shifted = ShiftedClock()
    capture = loaded(path)
    found = []
    with replay(read_capture(path)) as address:
        for result in scrape(address, capture.header.scrapes, everything=True, clock=shifted):
            found.append((result, result.all_families(stuck=False)))
            shifted.ahead += INTERVAL
    return found


@each_capture
def test_every_collector_is_read_or_explained(path: Path) -> None:
    taken = loaded(path)
    report = check_of(RecordedServer(taken.statements)).report()
    explained = {name for each in report.failures if NOT_RECORDED in each.message for name in each.collectors}
    # A column of another type costs its metrics.
    mismatched = {name for each in report.failures if " holds " in each.message for name in each.collectors}
    failed = {each.sql for each in taken.statements if each.error}
    recorded = {each.sql for each in taken.statements} - failed
    readable = {each.name for each in planned(taken) if each.statement in recorded}
    for result, _ in scraped(path):
        assert result.summary.up and not result.summary.error, result.summary.error
        reasons = {name: outcome.reason for name, outcome in result.outcomes.items()}
        assert {name for name in readable if reasons.get(name, "missing")} <= mismatched
        unexplained = {
            name: reason
            for name, reason in reasons.items()
            if reason not in EXPLAINED and name not in explained
            if not (reason == "unreadable" and name in mismatched)
        }
        assert not unexplained


@each_capture
def test_names_types_and_help_are_stable_and_totals_never_fall(path: Path) -> None:
    kinds: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    totals: Samples = {}
    for _, families in scraped(path):
        for family in families:
            assert kinds.setdefault(family.name, (family.kind, family.help, family.labels)) == (
                family.kind,
                family.help,
                family.labels,
            )
            assert (family.kind == "counter") == family.name.endswith("_total")
            for labels, value in by_name([family])[family.name].items():
                assert value == value, f"{family.name}{labels} is not a number"
                if family.kind == "counter":
                    before = totals.setdefault(family.name, {}).get(labels, 0.0)
                    assert value >= before >= 0.0, f"{family.name}{labels}: {before} to {value}"
                    totals[family.name][labels] = value
