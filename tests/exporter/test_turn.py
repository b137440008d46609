"""One thread at a time has the turn, and none keeps it while it waits for a server."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.programs import eventually

from ase_exporter.ase.cost import Cost
from ase_exporter.ase.driver_socket import DriverSocket
from ase_exporter.ase.watchdog import CallBounds, Watchdog
from ase_exporter.turn import TURN, Turn


def call() -> CallBounds:
    """A call of the driver that has a minute."""
    nowhere = DriverSocket(-1, -1)
    return CallBounds(nowhere, Watchdog(), Cost(), lambda: None, time.monotonic() + 60, 1 << 20)


@pytest.mark.parametrize("waiting", [TURN.given_up, call], ids=["given up", "a call that lasts"])
def test_who_waits_lets_another_have_the_turn_and_gets_it_back(
    waiting: Callable[[], AbstractContextManager[None]],
) -> None:
    had_it, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with TURN.held():
            had_it.set()
            may_end.wait(60)

    thread = threading.Thread(target=other)
    with TURN.held():
        thread.start()
        with waiting():
            assert had_it.wait(60)
            assert not TURN.is_mine
            may_end.set()
        assert TURN.is_mine
    thread.join(60)
    assert not TURN.is_mine


def test_a_thread_without_the_turn_gives_up_nothing_and_gets_nothing() -> None:
    with TURN.given_up(), call():
        assert not TURN.is_mine
    assert not TURN.is_mine
    with TURN.held():
        assert TURN.is_mine


def test_an_error_ends_the_turn() -> None:
    with pytest.raises(KeyError), TURN.held(), TURN.given_up():
        raise KeyError
    assert not TURN.is_mine


def test_who_goes_on_comes_before_who_begins_and_of_those_the_last() -> None:
    turn, order = Turn(), list[str]()
    turn.take()
    threads = []
    for name in ("begins 1", "goes on 1", "begins 2", "goes on 2"):

        def run(name: str = name) -> None:
            turn.take(begins=name.startswith("begins"))
            order.append(name)
            turn.end(threading.get_ident())

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        eventually(f"{name} waits", lambda: len(turn._waiting) == len(threads))
    turn.end(threading.get_ident())
    for thread in threads:
        thread.join(60)
    assert order == ["goes on 1", "goes on 2", "begins 2", "begins 1"]
