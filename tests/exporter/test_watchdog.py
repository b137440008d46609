"""The watchdog acts at its times, in order, unless called off."""

import threading
import time
from types import SimpleNamespace

import pytest

from ase_exporter import watchdog as watchdog_module
from ase_exporter.watchdog import Watchdog


def test_actions_come_in_the_order_of_their_times() -> None:
    watchdog, done, order = Watchdog(), threading.Event(), []
    now = time.monotonic()
    watchdog.at(now + 0.06, lambda: (order.append("late"), done.set()))
    watchdog.at(now + 0.02, lambda: order.append("early"))
    assert done.wait(60)
    assert order == ["early", "late"]
    assert time.monotonic() - now >= 0.06


def test_an_action_called_off_never_comes() -> None:
    watchdog, done, order = Watchdog(), threading.Event(), []
    # The lock keeps the watchdog from acting meanwhile, however long a busy machine takes over these lines.
    with watchdog._changed:
        now = time.monotonic()
        off = watchdog.at(now + 0.02, lambda: order.append("called off"))
        watchdog.at(now + 0.04, done.set)
        off()
    assert done.wait(60)
    assert order == []


def test_a_guard_is_armed_only_within_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog, inside, after, done = Watchdog(), threading.Event(), threading.Event(), threading.Event()
    now = time.monotonic()
    with watchdog.guard((now, inside.set), (now + 3600, after.set)):
        assert inside.wait(60)
    monkeypatch.setattr(watchdog_module, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 3601))
    watchdog.at(now + 3601, done.set)
    # It looks at the clock again for what comes before all else.
    watchdog.at(now, lambda: None)
    assert done.wait(60)
    assert not after.is_set()


def test_an_earlier_time_set_later_is_not_missed() -> None:
    watchdog, done = Watchdog(), threading.Event()
    off = watchdog.at(time.monotonic() + 3600, lambda: None)
    watchdog.at(time.monotonic() + 0.01, done.set)
    assert done.wait(60)
    off()


def test_it_is_not_woken_for_what_was_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog, done, waits = Watchdog(), threading.Event(), list[float | None]()
    wait = watchdog._changed.wait

    def counted(timeout: float | None = None) -> bool:
        waits.append(timeout)
        return wait(timeout)

    monkeypatch.setattr(watchdog._changed, "wait", counted)
    with watchdog._changed:
        now = time.monotonic()
        for number in range(1000):
            watchdog.at(now + number / 10_000, lambda: None)()
        watchdog.at(now + 0.2, done.set)
    assert done.wait(60)
    assert len(waits) < 10
