"""GilScheduler: one thread at a time holds the turn, releases it while it waits, and loses it after a while."""

import threading
import time

from ase_exporter.ase.gil_scheduler import GilScheduler


def test_one_thread_at_a_time_has_the_turn() -> None:
    gil_scheduler = GilScheduler(max_hold=60.0)
    inside, most, count = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, count
        for _ in range(50):
            with gil_scheduler.held():
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                count += 1
                inside -= 1
                with gil_scheduler.released():
                    time.sleep(0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == 400
    assert most == 1


def test_a_thread_that_holds_the_turn_too_long_loses_it() -> None:
    gil_scheduler, kept, end = GilScheduler(), threading.Event(), threading.Event()

    def trickle() -> None:
        with gil_scheduler.held():
            kept.set()
            assert end.wait(60)

    thread = threading.Thread(target=trickle)
    thread.start()
    assert kept.wait(60)
    for _ in range(3):
        with gil_scheduler.held():
            assert not end.is_set()
    end.set()
    thread.join(60)
    with gil_scheduler.held():
        pass
    assert not thread.is_alive()


def test_the_next_turn_goes_to_the_thread_that_began_first() -> None:
    gil_scheduler, order, began = (
        GilScheduler(max_hold=60.0),
        list[int](),
        [threading.Event() for _ in range(3)],
    )
    back = [threading.Event() for _ in range(3)]

    def work(number: int) -> None:
        with gil_scheduler.held():
            with gil_scheduler.released():
                began[number].set()
                assert back[number].wait(60)
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread, event in zip(threads, began, strict=True):
        thread.start()
        assert event.wait(60)
    with gil_scheduler.held():
        for number in (2, 0, 1):
            back[number].set()
            while gil_scheduler.seconds_at_one_call(threads[number].ident):
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join(60)
    assert order == [0, 1, 2]
