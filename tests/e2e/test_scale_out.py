"""Two hundred simulated servers over deploy/scale-out: nothing is lost when an agent or the store goes away."""

import json
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest
from tests import needs
from tests.e2e.fleet import INTERVAL, Fleet, fleet
from tests.programs import eventually

from ase_simulator.demo.webhook import Notification

IDLE = 199
LIVE = "memscale"
AGENTS = ("agent-a", "agent-b")
MINUTE = 60.0
# For everything to be scraped twice and to arrive.
SETTLED = 3 * INTERVAL
# What a killed process takes along, an agent what it had not sent, the store what it had not written, was scraped not
# longer ago than this: a scrape may take 10 s, a batch waits for 5 s, the store writes every second or five.
UNSENT = 25.0
# Not what rules record, nor what Prometheus says of a scrape, but for the number of samples that it had.
SCRAPED = (
    '{job="ase",__name__!~"up|scrape_duration_.*|scrape_samples_post_.*|scrape_series_.*|ase:.*|ALERTS.*"}'
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800), needs.VICTORIA_METRICS]


@dataclass(frozen=True)
class Span:
    """From when to when, Unix time."""

    start: float
    end: float

    def __contains__(self, at: float) -> bool:
        return self.start <= at <= self.end


@dataclass
class Stored:
    """What the store has. Times are Unix milliseconds.

    series: server -> time -> how many different series have a sample of that time. scrapes: server -> time -> how many
    samples an agent says that it scraped then; twice if both agents scraped at the very same time.
    """

    series: dict[str, Counter[int]]
    scrapes: dict[str, dict[int, list[int]]]

    def slots(self, server: str, span: Span) -> dict[float, list[int]]:
        """When the server was to be scraped, Unix time -> the times of the scrapes that are of that moment."""
        times = sorted(self.series[server].keys() | self.scrapes[server].keys())
        # Around the first of them, for 14.9 s and 0.1 s of an interval are near each other.
        off = [(at - times[0]) / 1000 for at in times]
        moment = times[0] / 1000 + statistics.median(
            (each + INTERVAL / 2) % INTERVAL - INTERVAL / 2 for each in off
        )
        first, last = (round((at - moment) / INTERVAL) for at in (span.start, span.end))
        found: dict[float, list[int]] = {slot * INTERVAL + moment: [] for slot in range(first + 1, last)}
        for at in times:
            slot = round((at / 1000 - moment) / INTERVAL)
            if first < slot < last:
                found[slot * INTERVAL + moment].append(at)
        return found

    def whole(self, server: str, at: int) -> bool:
        """Whether all is there that was scraped of a server at a time."""
        return at in self.scrapes[server] and self.series[server][at] == max(self.scrapes[server][at])


@dataclass
class Lived:
    """The fleet after all that it went through. compared: what of the time is looked at."""

    running: Fleet
    compared: Span
    store_killed: Span
    stored: Stored

    @property
    def in_memory(self) -> Span:
        """What the store had in memory alone when it was killed was scraped then, or not much before."""
        return Span(self.store_killed.start - UNSENT, self.store_killed.start)


def away(running: Fleet, service: str, how: signal.Signals) -> Span:
    """End a service, and start it again a minute later."""
    start = time.time()
    running.end(service, how)
    time.sleep(MINUTE)
    running.start(service)
    running.wait_ready(service)
    end = time.time()
    time.sleep(SETTLED)
    return Span(start, end)


def backlog(running: Fleet, agent: str) -> float:
    """How many seconds an agent is behind with sending what it has read."""
    text = httpx2.get(f"{running.url(agent)}/metrics", trust_env=False, timeout=10).text
    lines = [
        line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("prometheus_remote_storage_")
    ]
    values = {name.partition("{")[0]: float(value) for name, value in lines}
    return (
        values["prometheus_remote_storage_highest_timestamp_in_seconds"]
        - values["prometheus_remote_storage_queue_highest_sent_timestamp_seconds"]
    )


def stored(running: Fleet, span: Span) -> Stored:
    """All that the agents wrote of the servers. What was sent again after an error may be there twice."""
    times: dict[tuple[str, frozenset[tuple[str, str]]], set[int]] = defaultdict(set)
    scrapes: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    query = {"match[]": SCRAPED, "start": str(span.start), "end": str(span.end)}
    url = f"{running.url('victoriametrics')}/api/v1/export"
    with httpx2.stream("GET", url, params=query, trust_env=False, timeout=300) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            block = json.loads(line)
            server, samples = (
                block["metric"]["instance"],
                zip(block["timestamps"], block["values"], strict=True),
            )
            if block["metric"]["__name__"] == "scrape_samples_scraped":
                for at, count in samples:
                    scrapes[server][at].append(count)
            else:
                # null marks the end of a series.
                there = (at for at, value in samples if value is not None)
                times[server, frozenset(block["metric"].items())].update(there)
    series: dict[str, Counter[int]] = defaultdict(Counter)
    for (server, _), each in times.items():
        series[server].update(each)
    return Stored(series, scrapes)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    with fleet(tmp_path_factory.mktemp("fleet"), IDLE, [LIVE]) as running:
        # Without deduplication, so that every sample that was written can be counted.
        running.more["victoriametrics"] = ["--dedup.minScrapeInterval=0s"]
        running.start_all()
        running.wait(f"count(max_over_time(ase_up[5m]) == 1) == {IDLE + 1}", timeout=600)
        time.sleep(SETTLED)
        first = time.time()
        time.sleep(2 * INTERVAL)
        away(running, "agent-a", signal.SIGKILL)
        away(running, "victoriametrics", signal.SIGTERM)
        store_killed = away(running, "victoriametrics", signal.SIGKILL)
        eventually(
            "the agents catch up",
            lambda: max(backlog(running, each) for each in AGENTS) <= INTERVAL,
            120,
            every=1,
        )
        compared = Span(first, time.time() - 2 * INTERVAL)
        time.sleep(UNSENT)
        found = stored(running, compared)
        yield Lived(running, compared, store_killed, found)


def test_every_server_is_there_and_a_minute_without_an_agent_or_the_store_loses_no_scrape(
    lived: Lived,
) -> None:
    """At every moment at which a server was to be scraped all is there that was scraped of it then.

    What kill -9 takes from the store's memory is told apart, and printed.
    """
    assert lived.stored.scrapes.keys() == lived.running.servers.keys()
    moments = samples = lost = 0
    for server in lived.running.servers:
        for moment, times in lived.stored.slots(server, lived.compared).items():
            whole = [at for at in times if lived.stored.whole(server, at)]
            if moment in lived.in_memory and not whole:
                lost += 1
            else:
                assert whole, f"{server} at {moment}"
            moments += 1
            samples += sum(lived.stored.series[server][at] for at in whole)
    print(
        f"\n{len(lived.running.servers)} servers, {moments:,} scrapes, {samples:,} samples in "
        f"{lived.compared.end - lived.compared.start:.0f} s; scrapes not whole after kill -9 of the store: {lost:,}"
    )


def test_rules_are_evaluated_there_and_their_alerts_arrive(lived: Lived) -> None:
    def contended() -> list[Notification]:
        told = [each for each in lived.running.notifications if each.name == "AseSpinlockContention"]
        return [each for each in told if each.status == "firing"]

    eventually("contention is told", lambda: bool(contended()), 600)
    told = contended()
    assert {each.labels["instance"] for each in told} == {LIVE.upper()}
    lived.running.wait(f"count(count by (instance) (ase:spinlock_grabs:rate1m)) == {IDLE + 1}", timeout=600)
    print(f"\n{told[0].annotations['summary']}")
