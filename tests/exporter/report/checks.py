"""What must be true of the report on a story, compared with the counters inside the simulated server."""

import pytest
from tests.exporter.report.conftest import Past
from tests.exporter.report.week import HOUR, INTERVAL, LAG, START

from ase_exporter.report.gaps import NO_SCRAPE, SERVER_DOWN
from ase_exporter.report.history import hours
from ase_exporter.report.server_report import ServerReport

# Half a percentage point.
TOLERANCE = 0.005


def check_hours(report: ServerReport, past: Past) -> int:
    """Every hour without a change or a gap has the server's own figures; how many hours that is."""
    checked = 0
    spinlocks = {each.name: each for each in report.history.spinlocks}
    bins = round(HOUR / report.period.step)
    for hour in hours(report.history):
        number = round((hour.start - START) / HOUR)
        if _disturbed(number, past):
            continue
        assert hour.busy == pytest.approx(past.truth.busy(number), abs=TOLERANCE), number
        assert hour.spinning == pytest.approx(past.truth.spinning(number), abs=TOLERANCE), number
        transactions = past.truth.growth(number, "Transactions") / HOUR
        assert hour.transactions == pytest.approx(transactions, rel=0.01), number
        if hour.hottest:
            true = past.truth.contention(number, hour.hottest)
            assert hour.contention == pytest.approx(true, abs=TOLERANCE), (number, hour.hottest)
            first = round((hour.start - report.period.first) / report.period.step)
            assert spinlocks[hour.hottest].contention_in(slice(first, first + bins)) == pytest.approx(
                true, abs=TOLERANCE
            )
        checked += 1
    return checked


def _disturbed(number: int, past: Past) -> bool:
    """Whether an hour contains or follows within minutes a step of the story that makes its bins uneven."""
    story = past.story
    moments = [*story.changes, *story.away, *(story.down or ())]
    # The first hour's counters begin at its first scrape.
    return number == story.first or any(number - 0.2 <= moment < number + 1 for moment in moments)


def check_gaps(report: ServerReport, past: Past) -> None:
    """The gaps are those of the story, to the resolution."""
    expected = [(past.story.away, NO_SCRAPE)]
    if past.story.down:
        expected.append((past.story.down, SERVER_DOWN))
    assert [gap.kind for gap in report.gaps] == [kind for _, kind in expected]
    precision = report.resolution.gaps + INTERVAL
    for gap, ((start, end), _) in zip(report.gaps, expected, strict=True):
        assert gap.start == pytest.approx(START + start * HOUR, abs=precision)
        assert gap.end == pytest.approx(START + end * HOUR, abs=precision)


def check_alerts(report: ServerReport, past: Past) -> None:
    """Each alert fired as long as at the evaluations of its rule."""
    assert {(alert.name, alert.severity) for alert in report.alerts} == set(past.firing)
    for alert in report.alerts:
        times = past.firing[alert.name, alert.severity]
        # One evaluation more or less, and a minute, at each of the ends.
        precision = len(alert.spells) * (INTERVAL + 2 * report.resolution.alerts)
        assert alert.seconds == pytest.approx(len(times) * INTERVAL, abs=precision), alert
        assert alert.spells[0].start == pytest.approx(times[0], abs=INTERVAL)
        assert alert.spells[-1].end == pytest.approx(times[-1] + INTERVAL, abs=2 * INTERVAL)


def check_changes(report: ServerReport, past: Past, outcomes: list[str]) -> None:
    """The changes are those of the story, seen by the next snapshot, with these outcomes."""
    made = sorted([*past.story.changes, *([past.story.down[1]] if past.story.down else [])])
    seen = [effect.at for effect in report.effects]
    assert len(seen) == len(made)
    for at, hour in zip(seen, made, strict=True):
        assert -INTERVAL < at - (START + hour * HOUR) <= INTERVAL + LAG
    assert [effect.outcome for effect in report.effects] == outcomes
