"""A server that dies, hangs, refuses or rejects the login: one line says so, and top goes on when it is back."""

import queue
import threading
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from tests.exporter.clocks import ShiftedClock, opener
from tests.exporter.simulated import PASSWORD, Simulated, run
from tests.exporter.top.feeds import into
from tests.exporter.top.watching import catalogue
from tests.planted import DATABASE

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.errors import UserError
from ase_exporter.readings.live import TargetSampler
from ase_exporter.readings.samples import Sample
from ase_exporter.top.feed import LiveFeed, frames
from ase_exporter.top.frames import Frame, Framer, frame
from ase_exporter.top.plain import report
from ase_exporter.top.text import ASCII
from ase_exporter.untrusted.terminal import PlainConsole

PAUSE = 48.0
Make = Callable[..., TargetSampler]


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulated]:
    with run("16.0 SP04", "quiet-oltp") as started:
        yield started


@pytest.fixture
def server(shared: Simulated) -> Iterator[Simulated]:
    """The server, without faults afterwards."""
    yield shared
    faults = shared.faults
    faults.refuse = faults.hang = False
    faults.only = ""
    shared.drop()


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def sampler_of(server: Simulated, clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A function that makes samplers of the server, which are closed at the end."""
    monkeypatch.setattr(TIMING, "login_pause", PAUSE)
    made = []

    def sampler(user: str = "monitor", password: str = PASSWORD, interval: float = 2.0) -> TargetSampler:
        target = Target(name="ONE", host=server.address[0], port=server.address[1])
        config = Config(
            targets=(target,),
            auth={"default": Auth(user=user, password=password)},
            scrape=Scrape(connect_timeout=60.0, timeout=60.0),
        )
        seams: Any = {"clock": clock.clock, "open_connection": opener(clock.clock)}
        made.append(TargetSampler(config, target, catalogue(), interval, **seams))
        return made[-1]

    yield sampler
    for each in made:
        each.close()


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


def test_a_server_that_goes_refuses_or_hangs_is_a_line_and_is_asked_again(
    server: Simulated, clock: ShiftedClock, sampler_of: Make
) -> None:
    sampler = sampler_of()
    assert recovers(sampler, clock)
    server.drop()
    lost = sampler.take()
    assert lost.kind == "lost" and line(lost).startswith("DOWN: ") and lost.series == {}
    assert recovers(sampler, clock)
    server.faults.refuse = True
    server.drop()
    assert all(line(sampler.take()).startswith("DOWN: ") for _ in range(3))
    server.faults.refuse = False
    assert recovers(sampler, clock)
    # A sample costs no more than its timeout.
    sampler.timeout, server.faults.hang = 1.0, True
    hung = sampler.take()
    assert hung.kind == "deadline" and line(hung) == "DOWN: no answer within 1 s"
    sampler.timeout, server.faults.hang = 60.0, False
    assert recovers(sampler, clock)


def test_a_wrong_password_is_tried_no_more_often_than_serve_tries_it(
    clock: ShiftedClock, sampler_of: Make
) -> None:
    sampler = sampler_of(password="wrong")
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
    written = StringIO()
    PlainConsole(file=written).print(*report(frame(sampler.take()), ASCII))
    assert "login monitor" in written.getvalue() and DATABASE not in written.getvalue()


def test_a_feed_delivers_at_its_interval_and_stops_when_asked(server: Simulated, sampler_of: Make) -> None:
    shown: queue.Queue[Frame] = queue.Queue()
    feed = LiveFeed(sampler_of(interval=0.05))
    feed.start(into(shown))
    found = [shown.get(timeout=60) for _ in range(4)]
    feed.stop()
    feed.thread.join(60)
    server.drained()
    times = [each.sample.monotonic for each in found]
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(times))
    assert not feed.thread.is_alive()
    # What is not known yet is no figure.
    first = found[0]
    assert first.figures.cpu_busy is None and first.figures.spinning is None and first.figures.hottest is None
    assert not first.sample.error and first.diagnosis.state == "starting"


def test_a_frame_that_cannot_be_made_is_a_line_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Frame:
        raise KeyError("spid")

    monkeypatch.setattr(Framer, "frame", broken)
    closed = threading.Event()
    sampler: Any = SimpleNamespace(
        target=SimpleNamespace(name="ONE"), interval=0.0, take=lambda: None, close=closed.set
    )
    with pytest.raises(UserError, match=r"^target ONE: unexpected KeyError, see the log$"):
        next(frames(LiveFeed(sampler), 60.0))
    assert closed.wait(60)
