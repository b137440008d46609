"""Capture, replay, capture: nothing changes on the way, and a replay gives the metrics of the original."""

import re
from dataclasses import replace

import pytest
from tests.captures.make import CAPTURES, FULL, Source
from tests.exporter.capture.recorded import capture, record, replay, scrape
from tests.faults.scraping import samples

from ase_exporter.capture.file import Capture, lines, parse
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.replay.file import recorded

# The number of seconds depends on when the statement is sent.
SECONDS_AGO = re.compile(r"dateadd\(ss, -\d+,")
# A cluster with every collector and sp_sysmon. Recordings of the others are slow; replays of those in tests/captures
# are what test_captures reads.
QUICK = Source("15.7 SP138 CE", "idle", FULL)
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in CAPTURES if each != QUICK]


@pytest.mark.parametrize("source", [QUICK, *SLOW], ids=str)
def test_a_capture_of_a_replay_equals_the_capture_and_gives_the_same_metrics(source: Source) -> None:
    original: list[ScrapeResult] = []
    taken = record(source.version, source.scenario, source.plan, original, source.user)
    written = parse(list(lines(taken)), "capture").statements
    with replay(map(recorded, written)) as address:
        again = capture(address, source.plan, user=source.user)
        replayed = list(
            scrape(address, source.plan.scrapes, everything=source.plan.everything, user=source.user)
        )
    assert list(lines(comparable(again))) == list(lines(comparable(taken)))
    costs = [{each.name: each.samples for each in one.diagnostics} for one in (original[-1], replayed[-1])]
    for name in ("statements", "rows", "statement_seconds"):
        # A connection that records counts what it costs, too.
        assert all(sum(value for _, value in cost[f"ase_exporter_{name}_total"]) > 0 for cost in costs)
    for first, second in zip(original, replayed, strict=True):
        assert samples(second) == samples(first)
        assert len(samples(first)) > 5
        reasons = {name: outcome.reason for name, outcome in first.outcomes.items()}
        assert {name: outcome.reason for name, outcome in second.outcomes.items()} == reasons
        assert second.unavailable == first.unavailable


def comparable(capture: Capture) -> Capture:
    """The capture without what no two captures share: when and how long, and the order that follows from names."""
    statements = [
        replace(each, seconds=0.0, at=None, sql=SECONDS_AGO.sub("dateadd(ss, 0,", each.sql))
        for each in capture.statements
    ]
    return Capture(replace(capture.header, created=""), sorted(statements, key=lambda s: (s.scrape, s.sql)))
