"""Turns: one at a time, given away while a server is awaited, lost by who keeps them too long."""

import threading
import time

import pytest

from ase_exporter import turns as turns_module
from ase_exporter.turns import Turns


def test_one_thread_at_a_time_has_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "LONGEST", 60.0)
    turns = Turns()
    inside, most, count = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, count
        for _ in range(50):
            with turns.taken():
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                count += 1
                inside -= 1
                with turns.given():
                    time.sleep(0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == 400
    assert most == 1


def test_a_turn_that_is_given_is_free_for_others() -> None:
    turns, given, taken = Turns(), threading.Event(), threading.Event()

    def first() -> None:
        with turns.taken(), turns.given():
            given.set()
            assert taken.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    assert given.wait(60)
    with turns.taken():
        taken.set()
    thread.join(60)
    assert not thread.is_alive()


def test_who_keeps_a_turn_too_long_does_not_keep_the_others() -> None:
    turns, kept, end = Turns(), threading.Event(), threading.Event()

    def trickle() -> None:
        with turns.taken():
            kept.set()
            assert end.wait(60)

    thread = threading.Thread(target=trickle)
    thread.start()
    assert kept.wait(60)
    for _ in range(3):
        with turns.taken():
            assert not end.is_set()
    end.set()
    thread.join(60)
    with turns.taken():
        pass
    assert not thread.is_alive()


def test_who_began_first_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "LONGEST", 60.0)
    turns, order, began = Turns(), list[int](), [threading.Event() for _ in range(3)]
    back = [threading.Event() for _ in range(3)]

    def work(number: int) -> None:
        with turns.taken():
            with turns.given():
                began[number].set()
                assert back[number].wait(60)
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread, event in zip(threads, began, strict=True):
        thread.start()
        assert event.wait(60)
    with turns.taken():
        for number in (2, 0, 1):
            back[number].set()
            while turns.stands_still(threads[number].ident):
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join(60)
    assert order == [0, 1, 2]


def test_who_waits_for_something_else_stands_still_and_who_waits_for_the_turn_does_not() -> None:
    turns, end = Turns(), threading.Event()
    began = threading.Event()

    def work() -> None:
        with turns.taken(), turns.given():
            began.set()
            assert end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert began.wait(60)
    while turns.stands_still(thread.ident) < 0.05:
        time.sleep(0.001)
    with turns.taken():
        end.set()
        while turns.stands_still(thread.ident):
            time.sleep(0.001)
    thread.join(60)
    assert turns.stands_still(thread.ident) == 0


def test_giving_what_was_never_taken_does_nothing() -> None:
    turns = Turns()
    with turns.given():
        pass
