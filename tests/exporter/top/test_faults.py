"""A server that dies, hangs, refuses or rejects the login: one line says so, and top goes on when it is back."""

import json
import queue
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.exporter.clocks import ShiftedClock, opener
from tests.exporter.simulated import PASSWORD, Simulated, run
from tests.exporter.top.watching import catalogue
from tests.planted import DATABASE

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.top.as_json import as_json
from ase_exporter.top.frames import frame
from ase_exporter.top.samples import Sample
from ase_exporter.top.sampling import TargetSampler, Watcher

PAUSE = 48.0


@pytest.fixture
def server() -> Iterator[Simulated]:
    with run("16.0 SP04", "quiet-oltp") as started:
        yield started


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


def sampler_of(
    server: Simulated,
    clock: ShiftedClock,
    *,
    user: str = "monitor",
    password: str = PASSWORD,
    timeout: float = 60.0,
    interval: float = 2.0,
) -> TargetSampler:
    target = Target(name="ONE", host=server.address[0], port=server.address[1])
    config = Config(
        targets=(target,),
        auth={"default": Auth(user=user, password=password)},
        scrape=Scrape(connect_timeout=timeout, timeout=timeout),
    )
    return TargetSampler(
        config,
        target,
        catalogue(),
        interval,
        clock=clock.clock,
        open_connection=opener(clock.clock),
    )


@pytest.fixture(autouse=True)
def pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIMING, "login_pause", (PAUSE, PAUSE))


def line(sample: Sample) -> str:
    """The verdict, which must be one line."""
    text = frame(sample).diagnosis.sentence
    assert "\n" not in text and "Traceback" not in text
    return text


def recovers(sampler: TargetSampler, clock: ShiftedClock) -> bool:
    """Whether two samples are enough for figures."""
    assert not sampler.take().error
    clock.ahead += 4.0
    return frame(sampler.take()).figures.transactions is not None


def test_a_lost_connection_is_a_line_and_the_next_sample_logs_in_again(
    server: Simulated, clock: ShiftedClock
) -> None:
    sampler = sampler_of(server, clock)
    assert recovers(sampler, clock)
    server.drop()
    lost = sampler.take()
    assert lost.kind == "lost" and line(lost).startswith("DOWN: ")
    assert lost.series == {}
    assert recovers(sampler, clock)
    sampler.close()


def test_a_server_that_refuses_connections_is_asked_again_at_each_interval(
    server: Simulated, clock: ShiftedClock
) -> None:
    sampler = sampler_of(server, clock)
    assert recovers(sampler, clock)
    server.faults.refuse = True
    server.drop()
    assert all(line(sampler.take()).startswith("DOWN: ") for _ in range(3))
    server.faults.refuse = False
    assert recovers(sampler, clock)
    sampler.close()


def test_a_server_that_hangs_costs_a_sample_no_more_than_its_timeout(
    server: Simulated, clock: ShiftedClock
) -> None:
    sampler = sampler_of(server, clock, timeout=60.0)
    assert recovers(sampler, clock)
    sampler.timeout = 1.0
    server.faults.hang = True
    hung = sampler.take()
    assert hung.kind == "deadline" and line(hung) == "DOWN: no answer within 1 s"
    server.faults.hang = False
    sampler.timeout = 60.0
    assert recovers(sampler, clock)
    sampler.close()


def test_a_wrong_password_is_tried_no_more_often_than_serve_tries_it(
    server: Simulated, clock: ShiftedClock
) -> None:
    sampler = sampler_of(server, clock, password="wrong")
    first = sampler.take()
    assert first.kind == "login_failed"
    for _ in range(5):
        waiting = sampler.take()
        assert waiting.kind == "login_suspended" and line(waiting).startswith(
            "DOWN: login monitor was refused"
        )
    for _ in range(3):
        clock.ahead += 2 * PAUSE
        sampler.take()
    assert sampler._scraper.cost.connects == LOGIN_ATTEMPTS
    assert DATABASE not in as_json(frame(sampler.take()))
    sampler.close()


def test_a_login_without_mon_role_is_told_what_is_missing(server: Simulated, clock: ShiftedClock) -> None:
    sampler = sampler_of(server, clock, user="nobody")
    text = line(sampler.take())
    assert text.startswith("NOT KNOWN: ") and "ase-exporter check" in text
    sampler.close()


def test_one_collector_that_fails_costs_its_part_alone(server: Simulated, clock: ShiftedClock) -> None:
    sampler = sampler_of(server, clock)
    assert recovers(sampler, clock)
    server.faults.hang, server.faults.only = True, "monDeviceIO"
    sampler.timeout = 2.0
    clock.ahead += 2.0
    shown = frame(sampler.take())
    assert not shown.sample.error and shown.sample.missing["devices"] == "deadline"
    assert shown.figures.devices == () and shown.figures.connections is not None
    server.faults.hang = False
    sampler.close()


def test_a_watcher_delivers_at_its_interval_and_stops_when_asked(
    server: Simulated, clock: ShiftedClock
) -> None:
    samples: queue.Queue[Sample] = queue.Queue()
    watcher = Watcher(sampler_of(server, clock, interval=0.05), samples.put)
    watcher.start()
    times = [samples.get(timeout=60).monotonic for _ in range(4)]
    watcher.stop(60)
    server.drained()
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(times))
    assert not watcher._thread.is_alive()


def test_what_is_not_known_is_null_in_json(server: Simulated, clock: ShiftedClock) -> None:
    sampler = sampler_of(server, clock)
    content = json.loads(as_json(frame(sampler.take())))
    assert content["cpu_busy"] is None and content["spinning"] is None and content["hottest"] is None
    assert content["error"] is None and content["state"] == "starting"
    sampler.close()
