"""Capture, replay, capture: nothing changes on the way, and a replay gives the metrics of the original.

A capture by this exporter is equal to a capture of its replay. One of an older exporter cannot be: what must hold for
it for ever is in `assert_kept`.
"""

import json
import re
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.captures.make import CAPTURES, FULL, Source
from tests.exporter.capture.recorded import (
    FILES,
    capture,
    capture_again,
    loaded,
    record,
    replay,
    scrape,
)
from tests.exporter.samples import Samples, by_name

from ase_exporter.capture.file import Capture, lines, parse
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.replay.backend import NOT_RECORDED
from ase_simulator.replay.file import recorded

# The number of seconds depends on when the statement is sent.
SECONDS_AGO = re.compile(r"dateadd\(ss, -\d+,")
# A cluster with every collector and sp_sysmon. Recordings of the others are slow; replays of those in tests/captures
# are tested all the same, that of a server that differs from the manuals in each build.
QUICK = Source("15.7 SP138 CE", "idle", FULL)
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in CAPTURES if each != QUICK]


def samples(result: ScrapeResult) -> Samples:
    """All series of the collectors of a scrape."""
    return by_name(chain.from_iterable(result.collected.values()))


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


def assert_kept(taken: Capture, again: Capture) -> None:
    """In every scrape, a replay gives the same answers to each statement that is still sent, and no others."""
    before, after = executions(taken), executions(again)
    still_sent = before.keys() & after.keys()
    assert {key: after[key] for key in still_sent} == {key: before[key] for key in still_sent}
    assert {scrape for scrape, _ in still_sent} == set(range(1, taken.header.scrapes + 1))
    recorded = {sql for _, sql in before}
    for (_, sql), executed in after.items():
        errors = [each["error"]["number"] for each in executed if "error" in each]
        assert sql in recorded or set(errors) <= {NOT_RECORDED}, sql


def executions(taken: Capture) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """What the file says, without times, by scrape and statement."""
    found = defaultdict(list)
    for line in map(json.loads, list(lines(comparable(taken)))[1:-1]):
        found[line["scrape"], line["sql"]].append(line)
    return dict(found)


# A cluster, and a server that differs from the manuals. Replays of the others are slow.
REPLAYED = [
    path if re.search("ce-idle|hostile", path.name) else pytest.param(path, marks=pytest.mark.slow)
    for path in FILES
]


@pytest.mark.parametrize("path", REPLAYED, ids=lambda path: path.name)
def test_a_replay_gives_what_was_recorded(path: Path) -> None:
    taken = loaded(path)
    assert_kept(taken, capture_again(taken))
