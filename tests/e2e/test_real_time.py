"""Scenarios in real time, with the shipped intervals, through a running Prometheus and Alertmanager.

What fires must be what alerts/scenarios.md says, and what is told must be what fires. Rules are evaluated somewhere
between two scrapes here, and scrapes begin somewhere in a scenario, so that every time is within a tolerance.
Together they take two hours and three quarters.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.e2e.running import Running, running
from tests.e2e.told import Told, about, differences, documented, told

from ase_exporter.demo.faster import Pace

INTERVAL = 15
TOLERANCE = 60
# Seconds: Alertmanager waits a quarter of a minute with the first of a group, and a minute with more of it; twice, for
# what another alert muted until then.
TELLING = 150
# How long each is watched, in seconds.
WATCHED = {"storm": 1500, "vldb": 1170, "memscale": 3660, "failures": 1230, "idle": 1000, "quiet-oltp": 1000}

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@dataclass(frozen=True)
class Span:
    """Seconds in which something was so."""

    start: int
    end: int

    def without(self, others: Iterable["Span"]) -> list["Span"]:
        """What is left of it where none of the others is."""
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


def firing(run: Running, start: float, seconds: int) -> list[Told]:
    """What Prometheus says that fired."""
    answer = httpx.get(
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
    return told(seen, INTERVAL, seconds // INTERVAL * INTERVAL)


def untold(run: Running, seen: list[Told], seconds: int) -> list[str]:
    """What fired, and nobody was told; and what somebody was told that did not fire."""
    heard = {(each.name, each.labels["severity"], about(each.labels)) for each in run.webhook.notifications()}
    may_be_told: set[tuple[str, str, str]] = set()
    wrong: list[str] = []
    for each in seen:
        key = (each.alert, each.severity, each.about)
        alone = Span(each.fired, each.resolved or seconds).without(
            Span(other.fired, other.resolved or seconds) for other in seen if _mutes(other, each)
        )
        if alone:
            may_be_told.add(key)
        if any(part.end - part.start >= TELLING for part in alone) and key not in heard:
            wrong.append(f"nobody was told: {each}")
    return wrong + [f"told, and did not fire or was muted: {key}" for key in sorted(heard - may_be_told)]


def _mutes(one: Told, other: Told) -> bool:
    if one.alert == "AseDown":
        return other.alert != "AseDown"
    same = (one.alert, one.about) == (other.alert, other.about)
    return same and (one.severity, other.severity) == ("critical", "warning")


@pytest.mark.timeout(2 * 3600)
@pytest.mark.parametrize("scenario", WATCHED)
def test_what_fires_in_real_time_is_what_the_table_says(scenario: str, tmp_path: Path) -> None:
    seconds = WATCHED[scenario]
    start = time.time()
    with running(tmp_path, Pace(speed=1.0, scrape_interval=INTERVAL), f"--scenario={scenario}") as run:
        # Nothing to wait for: what counts is that no more happens until then than the table says.
        time.sleep(start + seconds - time.time())
        seen = firing(run, start, seconds)
        heard = [
            f"{each.received - start:.0f} s: {each.receiver}: {each.status} {each.name} {about(each.labels)}"
            for each in run.webhook.notifications()
        ]
        print(*seen, *heard, sep="\n")
        wanted = documented().get(scenario, [])
        assert differences(wanted, seen, seconds, TOLERANCE) + untold(run, seen, seconds) == []
