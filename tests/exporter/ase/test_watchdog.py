"""The watchdog runs actions at their times unless they are cancelled."""

import threading
import time

import pytest
from tests.exporter.clocks import ShiftedClock

from ase_exporter.ase.watchdog import Watchdog


def test_a_guard_is_armed_only_within_its_block() -> None:
    shifted, inside, after, done = ShiftedClock(), threading.Event(), threading.Event(), threading.Event()
    watchdog = Watchdog(shifted.clock)
    now = time.monotonic()
    with watchdog.guard((now, inside.set), (now + 3600, after.set)):
        assert inside.wait(60)
    shifted.ahead = 3601
    watchdog.at(now + 3601, done.set)
    # It looks at the clock again for what comes before all else.
    watchdog.at(now, lambda: None)
    assert done.wait(60)
    assert not after.is_set()


def test_an_action_that_fails_does_not_end_the_watchdog(caplog: pytest.LogCaptureFixture) -> None:
    watchdog, done = Watchdog(), threading.Event()

    def no_thread() -> None:
        raise RuntimeError("can't start new thread")

    now = time.monotonic()
    watchdog.at(now, no_thread)
    watchdog.at(now + 0.01, done.set)
    assert done.wait(60)
    assert "a deadline could not be enforced" in caplog.text


def test_an_action_that_runs_delays_no_other_call_and_its_own_until_it_has_ended() -> None:
    watchdog, began, may_end, ended = Watchdog(), threading.Event(), threading.Event(), threading.Event()

    def act() -> None:
        began.set()
        may_end.wait(60)
        ended.set()

    cancel = watchdog.at(time.monotonic(), act)
    assert began.wait(60)
    with watchdog.guard((time.monotonic() + 3600, lambda: None)):
        assert not ended.is_set()
    canceller = threading.Thread(target=cancel)
    canceller.start()
    canceller.join(0.1)
    assert canceller.is_alive()
    may_end.set()
    canceller.join(60)
    assert ended.is_set() and not canceller.is_alive()
