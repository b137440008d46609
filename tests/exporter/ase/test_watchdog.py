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
