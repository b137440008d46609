"""Compares what fired with what a time line wants: wrong pages, and misses."""

from collections.abc import Sequence

from tests.alerts.laboratory.lines import INTERVALS, TimeLine
from tests.alerts.laboratory.promtool import Firings
from tests.alerts.laboratory.signals import seconds

# A Prometheus that is away evaluates nothing, and when it is back it goes on with the alerts that it had
# (ALERTS_FOR_STATE). The tools evaluate on: what fires before it was away and within this time after is one page.
RESTORED = 900


def outcome(line: TimeLine, firings: Firings) -> str:
    """What was wrong in a time line, as `known` in time_lines.yaml has it; '' if all is as wanted.

    Alerts that fired and should not, or twice, and those that did not fire in time, with ` or ` between alternatives.
    """
    firings = _sent(line, firings)
    pages = {tuple(names.split(" | ")): page for names, page in line.pages.items()}
    wrong: list[str] = []
    for alert, periods in sorted(firings.items()):
        starts = [page.start for alerts, page in pages.items() if alert in alerts]
        if alert.endswith(" critical") and not starts and alert not in line.never:
            continue
        if not starts and alert not in line.may and f"{alert} again" not in line.may:
            wrong.append(alert)
        elif starts and periods[0][0] < min(starts):
            wrong.append(f"{alert} too early")
        elif len(periods) > 1 and f"{alert} again" not in line.may:
            wrong.append(f"{alert} {len(periods)} times")
    for alerts, page in pages.items():
        fired = [period for alert in alerts for period in firings.get(alert, ())]
        if not any(page.start <= start <= page.by and page.until <= end <= page.ends for start, end in fired):
            wrong.append(f"no {' or '.join(alerts)}")
    return ", ".join(wrong)


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
