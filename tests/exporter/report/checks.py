"""What must be true of the report on a story, compared with the counters inside the simulated server."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.exporter.report.conftest import Past
from tests.exporter.report.week import HOUR, INTERVAL, LAG, START

from ase_exporter.report.history import NO_SCRAPE, SERVER_DOWN, gap_resolution, hours
from ase_exporter.report.server_report import ServerReport

# Half a percentage point.
TOLERANCE = 0.005


def check_hours(report: ServerReport, past: Past) -> int:
    """Every hour without a change or a gap has the server's own figures; how many hours that is."""
    checked = 0
    for hour in hours(report.history):
        number = round((hour.start - START) / HOUR)
        if _disturbed(number, past):
            continue
        for seen, of, base in (
            (hour.busy, past.truth.busy, TOLERANCE),
            (hour.spinning, past.truth.spinning, TOLERANCE),
            (hour.transactions, past.truth.transactions, 0.01 * past.truth.transactions(number)),
        ):
            assert seen == pytest.approx(of(number), abs=base + _edge(of, number)), (number, of.__name__)
        if hour.hottest:
            contention = past.truth.contention(number, hour.hottest)
            assert hour.contention == pytest.approx(contention, abs=TOLERANCE), number
        checked += 1
    return checked


def _edge(truth: Callable[[int], float], number: int) -> float:
    """What an evaluation more of the hour before makes: hours end between two evaluations."""
    return abs(truth(number) - truth(number - 1)) * INTERVAL / HOUR


def _disturbed(number: int, past: Past) -> bool:
    """Whether an hour contains or follows a step of the story: rates look back into what is not steady there."""
    story = past.story
    moments = [*story.changes, *story.away, *(story.down or ())]
    # The first hour's counters begin at its first scrape, and the last hour's end is not noted.
    edges = (story.first, story.first + story.hours - 1)
    return number in edges or any(number - 1 <= moment < number + 1 for moment in moments)


def check_gaps(report: ServerReport, past: Past) -> None:
    """The gaps are those of the story, to the resolution."""
    expected = [(past.story.away, NO_SCRAPE)]
    if past.story.down:
        expected.append((past.story.down, SERVER_DOWN))
    assert [gap.name for gap in report.gaps] == [kind for _, kind in expected]
    precision = gap_resolution(report.period, report.scrape) + INTERVAL
    for gap, ((start, end), _) in zip(report.gaps, expected, strict=True):
        assert gap.start == pytest.approx(START + start * HOUR, abs=precision)
        assert gap.end == pytest.approx(START + end * HOUR, abs=precision)


def check_alerts(report: ServerReport, past: Past) -> None:
    """Each alert fired as long as at the evaluations of its rule."""
    rows = dict(report.tables["alerts"].rows)
    assert rows.keys() == past.firing.keys()
    for alert, times in past.firing.items():
        spells = 1 + sum(later - earlier > 2 * INTERVAL for earlier, later in pairwise(times))
        # At each end an evaluation more or less: without a marker of its end, a series lasts for five minutes.
        assert rows[alert] == pytest.approx(len(times) * INTERVAL, abs=spells * 1.5 * INTERVAL), alert


def check_changes(report: ServerReport, past: Past, outcomes: list[str]) -> None:
    """The changes are those of the story, seen by the next snapshot, with these outcomes."""
    made = sorted([*past.story.changes, *([past.story.down[1]] if past.story.down else [])])
    seen = [effect.at for effect in report.effects]
    assert len(seen) == len(made)
    for at, hour in zip(seen, made, strict=True):
        assert -INTERVAL < at - (START + hour * HOUR) <= INTERVAL + LAG
    assert [effect.outcome for effect in report.effects] == outcomes
