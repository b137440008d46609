"""A server that dies, hangs, refuses or rejects the login: one line says so, and top goes on when it is back."""

import queue
import threading
import time
from io import StringIO
from itertools import pairwise

import pytest
from tests.exporter.clocks import leaping
from tests.exporter.top.feeds import into
from tests.exporter.top.test_shares import sampler
from tests.exporter.top.watching import AUTH, Watched, watched

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.config import Auth
from ase_exporter.errors import UserError
from ase_exporter.readings.samples import Sample
from ase_exporter.top.feed import LiveFeed, frames
from ase_exporter.top.frames import Frame, Framer
from ase_exporter.top.plain import report
from ase_exporter.top.text import ASCII
from ase_exporter.untrusted.terminal import PlainConsole

WRONG = "wrong-planted"


def line(shown: Frame) -> str:
    """The verdict, which must be one line."""
    text = shown.diagnosis.sentence
    assert "\n" not in text and "Traceback" not in text
    return text


def recovers(watching: Watched) -> bool:
    """Whether two samples are enough for figures."""
    assert not watching.frame().sample.error
    return watching.frame(4.0).diagnosis.measures["transactions"].value is not None


def test_a_server_that_goes_refuses_or_hangs_is_a_line_and_is_asked_again() -> None:
    with watched("quiet-oltp") as watching:
        listener = watching.run.listener
        assert recovers(watching)
        watching.run.ask(listener.drop)
        lost = watching.frame()
        assert lost.sample.kind == "lost" and line(lost).startswith("DOWN: ") and lost.sample.series == {}
        assert recovers(watching)
        listener.faults.refuse = True
        watching.run.ask(listener.drop)
        assert all(line(watching.frame()).startswith("DOWN: ") for _ in range(3))
        listener.faults.refuse = False
        assert recovers(watching)
        # A sample costs no more than its timeout. So shortly after it, the connection is still there.
        watching.sampler.timeout, listener.faults.hang = 1.0, True
        with leaping(watching.time, 1.1):
            hung = watching.frame()
        assert hung.sample.kind == "deadline" and line(hung) == "DOWN: no answer within 1 s"
        watching.sampler.timeout, listener.faults.hang = 60.0, False
        assert recovers(watching)


def test_a_wrong_password_is_tried_no_more_often_than_serve_tries_it() -> None:
    with watched("quiet-oltp", auth=Auth(user=AUTH.user, password=WRONG)) as watching:
        assert watching.frame().sample.kind == "login_failed"
        for _ in range(5):
            waiting = watching.frame()
            assert waiting.sample.kind == "login_suspended"
            assert line(waiting).startswith(f"DOWN: login {AUTH.user} was refused")
        for _ in range(3):
            watching.frame(100.0)
        assert watching.sampler._scraper.cost.connects == LOGIN_ATTEMPTS
        written = StringIO()
        PlainConsole(file=written).print(*report(watching.frame(), ASCII))
    assert f"login {AUTH.user}" in written.getvalue() and WRONG not in written.getvalue()


def test_a_feed_delivers_at_its_interval_and_logs_out_when_asked() -> None:
    shown, closed = queue.Queue[Frame](), threading.Event()
    feed = LiveFeed(sampler(lambda: Sample("ONE", 0.0, time.monotonic(), 0.05), closed, interval=0.05))
    feed.start(into(shown))
    times = [shown.get(timeout=60).sample.monotonic for _ in range(4)]
    feed.stop()
    feed.thread.join(60)
    assert closed.is_set() and not feed.thread.is_alive()
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(times))


def test_a_frame_that_cannot_be_made_is_a_line_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Frame:
        raise KeyError("spid")

    monkeypatch.setattr(Framer, "frame", broken)
    closed = threading.Event()
    with pytest.raises(UserError, match=r"^target ONE: unexpected KeyError, see the log$"):
        next(frames(LiveFeed(sampler(lambda: Sample("ONE", 0.0, 0.0, 0.0), closed)), 60.0))
    assert closed.wait(60)
