"""Compares what fired with what a time line wants: wrong pages, and misses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.alerts.laboratory.lines import INTERVALS, Page, TimeLine
from tests.alerts.laboratory.promtool import Firings
from tests.alerts.laboratory.signals import seconds

# A Prometheus that is away evaluates nothing, and when it is back it goes on with the alerts that it had
# (ALERTS_FOR_STATE). The tools evaluate on: what fires before it was away and within this time after is one page.
RESTORED = 900


@dataclass(frozen=True)
class Outcome:
    """wrong: alerts that fired and should not, or twice; missed: those that did not fire in time, with ` or ` between
    alternatives."""

    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    def __str__(self) -> str:
        """As `known` in time_lines.yaml; '' if all is as wanted."""
        return ", ".join([*self.wrong, *(f"no {name}" for name in self.missed)])


def table(lines: Sequence[TimeLine], fired: Mapping[str, Firings]) -> str:
    """Pages of each time line: how many must be sent, how many of them were, how many others, and what is wrong."""
    rows = ["pages: wanted, sent, others; time line; what is wrong"]
    for line in lines:
        sent = [
            any(alert in page.alerts for page in line.pages)
            for alert, periods in _sent(line, fired[line.title]).items()
            for _ in periods
            if not alert.endswith(" critical") or any(alert in page.alerts for page in line.pages)
        ]
        row = f"{len(line.pages):3} {sum(sent):3} {len(sent) - sum(sent):3}  {line.title}"
        rows.append(f"{row}  WRONG: {wrong}" if (wrong := str(outcome(line, fired[line.title]))) else row)
    return "\n".join([*rows, f"{len(lines)} time lines, {sum('  WRONG: ' in row for row in rows)} wrong"])


def outcome(line: TimeLine, firings: Firings) -> Outcome:
    """What was wrong in a time line."""
    firings = _sent(line, firings)
    wrong: list[str] = []
    for alert, periods in sorted(firings.items()):
        starts = [page.start for page in line.pages if alert in page.alerts]
        if alert.endswith(" critical") and not starts and alert not in line.never:
            continue
        if not starts and alert not in line.may and f"{alert} again" not in line.may:
            wrong.append(alert)
        elif starts and periods[0][0] < min(starts):
            wrong.append(f"{alert} too early")
        elif len(periods) > 1 and f"{alert} again" not in line.may:
            wrong.append(f"{alert} {len(periods)} times")
    missed = [" or ".join(page.alerts) for page in line.pages if not _in_time(page, firings)]
    return Outcome(tuple(wrong), tuple(missed))


def _sent(line: TimeLine, firings: Firings) -> Firings:
    """The firings that a person is told of, without those of the rules for 15 s where scrapes are a minute apart."""
    return {
        alert: found
        for alert, periods in firings.items()
        if (found := _restored(line, periods))
        and not (line.family == "days" and alert == "AseScrapedTooRarely")
    }


def _restored(line: TimeLine, periods: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    away = [
        (seconds(each["from"]), seconds(each["from"]) + seconds(each["for"]))
        for each in line.lost
        if each["of"] == "prometheus" and "from" in each
    ]
    # Until the first scrape after it.
    evaluated = [
        (start, end)
        for start, end in periods
        if not any(lost <= start and end <= back + INTERVALS[line.family] for lost, back in away)
    ]
    found = evaluated[:1]
    for start, end in evaluated[1:]:
        before = found[-1]
        if any(lost <= before[1] <= back and start <= back + RESTORED for lost, back in away):
            found[-1] = (before[0], end)
        else:
            found.append((start, end))
    return found


def _in_time(page: Page, firings: Firings) -> bool:
    return any(
        page.start <= start <= page.by and page.until <= end <= page.ends
        for alert in page.alerts
        for start, end in firings.get(alert, [])
    )
