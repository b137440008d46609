"""Capture, replay, capture: nothing changes on the way, and a replay gives the metrics of the original.

A capture by this exporter is equal to a capture of its replay. One of an older exporter cannot be: what must hold for
it for ever is in `assert_kept`.
"""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.captures.make import CAPTURES, FULL, Source
from tests.exporter.capture.recorded import (
    FOLDER,
    capture,
    capture_again,
    catalogue,
    each_capture,
    loaded,
    record,
    replay,
    scrape,
)

from ase_exporter.capture.file import Capture, ColumnType, Execution, Result, dump, lines, parse
from ase_exporter.catalogue.facts import MECHANISM
from ase_exporter.checks.capture_report import capture_report
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import SESSION_SETUP
from ase_simulator.replay.backend import NOT_RECORDED
from ase_simulator.replay.file import recorded

# The number of seconds depends on when the statement is sent.
SECONDS_AGO = re.compile(r"dateadd\(ss, -\d+,")
# A cluster with every collector and sp_sysmon, and a server that differs from the manuals. Recordings of the others are
# slow; replays of those in tests/captures are tested all the same.
QUICK = [
    Source("15.7 SP138 CE", "idle", FULL),
    *(each for each in CAPTURES if each.scenario == "hostile"),
]
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in CAPTURES if each not in QUICK]


def samples(result: ScrapeResult) -> dict[str, dict[tuple[str, ...], float]]:
    """All series of the collectors of a scrape."""
    families: list[Family] = [family for each in result.collected.values() for family in each]
    return {family.name: {tuple(labels): value for labels, value in family.samples} for family in families}


@pytest.mark.parametrize("source", [*QUICK, *SLOW], ids=str)
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


@each_capture
def test_a_replay_gives_what_was_recorded(path: Path) -> None:
    taken = loaded(path)
    assert_kept(taken, capture_again(taken))


def older(statement: Execution) -> Execution | None:
    """What an older exporter would have recorded: other columns and conditions, and fewer facts."""
    sql = statement.sql
    if sql == MECHANISM:
        return None
    if sql == SESSION_SETUP:
        return replace(statement, sql=sql.replace("lock wait 2", "lock wait 3"))
    if sql.endswith("from master..monNetworkIO"):
        # A column that is no longer read, so that the replay selects the others.
        (result,) = statement.results
        columns = [ColumnType("Obsolete", "int", 10, 0, False), *(result.columns or ())]
        rows = [[7, *row] for row in result.rows]
        changed = sql.replace("select ", "select Obsolete, ")
        return replace(statement, sql=changed, results=[Result(result.messages, columns, rows)])
    if sql.endswith("from master..monProcELC"):
        return replace(statement, sql=f"{sql} where EngineID >= 0")
    if sql.endswith("from master..monDeviceIO"):
        # One column less.
        (result,) = statement.results
        rest = sql.partition(", ")[2]
        rows = [list(row)[1:] for row in result.rows]
        return replace(
            statement, sql=f"select {rest}", results=[Result((), (result.columns or ())[1:], rows)]
        )
    return statement


EXAMPLE = loaded(FOLDER / "16.0-sp04-idle-sa.capture.gz")


def test_a_capture_of_an_older_exporter_can_be_replayed_for_ever(tmp_path: Path) -> None:
    header = replace(EXAMPLE.header, exporter="0.0.1")
    old = replace(EXAMPLE, header=header, statements=list(filter(None, map(older, EXAMPLE.statements))))
    assert len({each.sql for each in EXAMPLE.statements} - {each.sql for each in old.statements}) == 5
    assert_kept(old, capture_again(old))
    for now, before in zip(scrapes(old), scrapes(EXAMPLE), strict=True):
        assert now.summary.up and not now.summary.error
        missing = {name for name, each in now.outcomes.items() if each.reason} - {"procedure_elc", "devices"}
        assert missing == {name for name, each in before.outcomes.items() if each.reason}
        kept = samples(now)
        assert kept == {name: values for name, values in samples(before).items() if name in kept}
        assert {"ase_network_packets_total", "ase_cache_searches_total"} <= kept.keys()
    path = tmp_path / "old.capture.gz"
    path.write_bytes(dump(old))
    report = capture_report(path, catalogue())
    (left_out,) = re.findall(r"(?m)collectors can be read; not in the capture: (.*)$", report)
    assert {"procedure_elc", "devices"} <= set(left_out.split(", "))
    assert "- Recorded by another version" in report


def scrapes(taken: Capture) -> list[ScrapeResult]:
    """The scrapes of a replay, of every collector."""
    with replay(map(recorded, taken.statements)) as address:
        return list(scrape(address, taken.header.scrapes, everything=True))
