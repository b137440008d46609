"""Scenarios in real time, with the shipped intervals, through a running Prometheus and Alertmanager.

What fires must be what alerts/scenarios.md says, and what is notified must be what fires. Scrapes and evaluations of
rules happen at arbitrary moments here, so times are compared with a tolerance. All scenarios take two hours and
three quarters.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from tests.e2e.expected_timeline import FiredAlert, differences, documented, fired_alerts, subject
from tests.e2e.running import Running, running

from ase_exporter.demo.scaling import Pace

INTERVAL = 15
TOLERANCE = 60
# Seconds: Alertmanager waits for 15 s before the first notification of a group and a minute before the next; twice
# that long for an alert that another one inhibited until then.
NOTIFICATION_SECONDS = 150
# How long each scenario is observed, in seconds.
OBSERVED = {"storm": 1500, "vldb": 1170, "memscale": 3660, "failures": 1230, "idle": 1000, "quiet-oltp": 1000}

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@dataclass(frozen=True)
class Span:
    """A span of time, in seconds."""

    start: int
    end: int

    def without(self, others: Iterable["Span"]) -> list["Span"]:
        """The parts that none of the others covers."""
        left = [self]
        for other in others:
            left = [
                part
                for each in left
                for part in (
                    Span(each.start, min(each.end, other.start)),
                    Span(max(each.start, other.end), each.end),
                )
                if part.start < part.end
            ]
        return left


def firing(run: Running, start: float, seconds: int) -> list[FiredAlert]:
    """The alerts that fired, according to Prometheus."""
    answer = httpx2.get(
        f"{run.stack.url('prometheus')}/api/v1/query_range",
        params={
            "query": 'ALERTS{alertstate="firing"}',
            "start": start,
            "end": start + seconds,
            "step": INTERVAL,
        },
        trust_env=False,
        timeout=60,
    ).raise_for_status()
    seen = [
        (series["metric"], round(at - start))
        for series in answer.json()["data"]["result"]
        for at, _ in series["values"]
    ]
    return fired_alerts(seen, INTERVAL, seconds // INTERVAL * INTERVAL)


def wrong_notifications(run: Running, seen: list[FiredAlert], seconds: int) -> list[str]:
    """Alerts that fired without a notification, and notifications of alerts that did not fire or were inhibited."""
    heard = {
        (each.name, each.labels["severity"], subject(each.labels)) for each in run.webhook.notifications()
    }
    may_be_notified: set[tuple[str, str, str]] = set()
    wrong: list[str] = []
    for each in seen:
        key = (each.alert, each.severity, each.subject)
        alone = Span(each.fired, each.resolved or seconds).without(
            Span(other.fired, other.resolved or seconds) for other in seen if _inhibits(other, each)
        )
        if alone:
            may_be_notified.add(key)
        if any(part.end - part.start >= NOTIFICATION_SECONDS for part in alone) and key not in heard:
            wrong.append(f"no notification: {each}")
    return wrong + [
        f"notification, but it did not fire or was inhibited: {key}"
        for key in sorted(heard - may_be_notified)
    ]


def _inhibits(one: FiredAlert, other: FiredAlert) -> bool:
    if one.alert == "AseDown":
        return other.alert != "AseDown"
    same = (one.alert, one.subject) == (other.alert, other.subject)
    return same and (one.severity, other.severity) == ("critical", "warning")


@pytest.mark.timeout(2 * 3600)
@pytest.mark.parametrize("scenario", OBSERVED)
def test_what_fires_in_real_time_is_what_the_table_says(scenario: str, tmp_path: Path) -> None:
    seconds = OBSERVED[scenario]
    start = time.time()
    with running(tmp_path, Pace(speed=1.0, scrape_interval=INTERVAL), f"--scenario={scenario}") as run:
        # No event to wait for: until the end nothing may happen that is not in the table.
        time.sleep(start + seconds - time.time())
        seen = firing(run, start, seconds)
        heard = [
            f"{each.received - start:.0f} s: {each.receiver}: {each.status} {each.name} {subject(each.labels)}"
            for each in run.webhook.notifications()
        ]
        print(*seen, *heard, sep="\n")
        wanted = documented().get(scenario, [])
        assert differences(wanted, seen, seconds, TOLERANCE) + wrong_notifications(run, seen, seconds) == []
