"""What a scrape found is kept, even if its answer comes too late for the caller."""

import asyncio
import pickle
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import cast

import pytest
from tests.exporter.simulated import CATALOGUE, Simulated, run
from tests.exporter.workers.test_pool import config

from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import ConfigSnapshot
from ase_exporter.metrics.saved_totals import SavedTotals
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.messages import ScrapeReply, ScrapeRequest, read
from ase_exporter.workers.pool import WorkerPool
from ase_exporter.workers.worker import TargetThread, Worker


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


class Snapshots:
    """Notes whose snapshots arrive."""

    def __init__(self) -> None:
        self.of: list[str] = []

    def on_snapshot(self, target: str, _: ConfigSnapshot) -> None:
        self.of.append(target)


def test_a_change_is_kept_if_the_web_process_stalls_past_the_deadline(server: Simulated) -> None:
    snapshots = Snapshots()

    async def main() -> None:
        pool = WorkerPool(Loaded(config(server), pickle.dumps(CATALOGUE)), cast(Journal, snapshots))
        await pool.start()
        try:
            # The other worker is not asked, so this one is still starting when nothing is read any more.
            await pool.scrape(ScrapeRequest("TWO", time.monotonic() + 60))
            await asyncio.wait_for(pool._slots[0].ready.wait(), 60)
            # A login would wait for the web process.
            await pool.scrape(ScrapeRequest("ONE", time.monotonic() + 60, collectors=frozenset()))
            answer = asyncio.create_task(pool.scrape(ScrapeRequest("ONE", time.monotonic() + 3.0)))
            while not (worker := pool._slots[0].worker) or not worker.pending:
                await asyncio.sleep(0)
            # As if the process were stopped: the reply waits in the socket.
            transport = cast(asyncio.Transport, worker.writer.transport)
            transport.pause_reading()
            assert not (await answer).summary.up
            transport.resume_reading()
            async with asyncio.timeout(60):
                while "ONE" not in snapshots.of:
                    await asyncio.sleep(0.01)
        finally:
            await pool.stop()

    asyncio.run(main())


class SlowScraper:
    """A scraper that finds a change, and that sp_sysmon cleared counters, after the late answer was sent."""

    name = "ONE"
    connected = False

    def __init__(self, answered: threading.Event) -> None:
        self._answered = answered

    def scrape(self, result: ScrapeResult) -> None:
        assert self._answered.wait(60)
        result.config_snapshot = ConfigSnapshot(1.0, b"changed")
        result.ended = result.sysmon_halted = True

    def saved_totals(self, result: ScrapeResult) -> SavedTotals:
        return SavedTotals(self.name, "default", b"totals")

    def close(self) -> None:
        pass


class Pipe:
    """A worker whose messages are read here."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        ours.settimeout(60)
        self._stream = ours.makefile("rb")
        self.worker = Worker(theirs)
        self.answered = threading.Event()

    def thread(self, scraper: object = None) -> TargetThread:
        return TargetThread(cast(TargetScraper, scraper or SlowScraper(self.answered)), self.worker, None)

    def receive(self) -> ScrapeReply:
        """The next message."""
        message = read(self._stream)
        assert isinstance(message, ScrapeReply)
        return message


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Pipe(ours, theirs)


def request(number: int, seconds: float) -> ScrapeRequest:
    return ScrapeRequest("ONE", time.monotonic() + seconds, number=number)


def test_what_is_found_after_the_late_answer_is_sent_too(pipe: Pipe) -> None:
    thread = pipe.thread()
    thread.submit(request(7, 0.2))
    late = pipe.receive()
    assert late.number == 7 and late.config_snapshot is None
    pipe.answered.set()
    rest = pipe.receive()
    thread.end()
    assert rest.target == "ONE"
    assert rest.config_snapshot == ConfigSnapshot(1.0, b"changed")
    assert rest.ended and rest.sysmon_halted
    assert rest.totals == SavedTotals("ONE", "default", b"totals")


class BrokenScraper(SlowScraper):
    """A scraper with a bug, once after its scrape and once while it logs out."""

    def __init__(self, answered: threading.Event) -> None:
        super().__init__(answered)
        self.failures = 0
        self.connected = True

    def saved_totals(self, result: ScrapeResult) -> SavedTotals:
        if not self.failures:
            self.failures += 1
            raise ZeroDivisionError
        return super().saved_totals(result)


def test_no_exception_ends_the_thread_of_a_target(pipe: Pipe) -> None:
    pipe.answered.set()
    thread = pipe.thread(BrokenScraper(pipe.answered))
    thread.submit(request(7, 60))
    failed = pipe.receive()
    assert (failed.number, failed.summary.error) == (7, "unexpected error, see the log")
    thread.submit(request(8, 60))
    assert pipe.receive().totals
    thread.end()


def test_an_answer_for_a_web_process_that_is_gone_is_dropped() -> None:
    ours, theirs = socket.socketpair()
    gone = Worker(theirs)
    ours.close()
    theirs.close()
    gone.reply(request(7, 60), ScrapeResult(time.monotonic() + 60))


class FreedScraper(SlowScraper):
    """Notes when nothing refers to a scrape's result any more."""

    def __init__(self, answered: threading.Event) -> None:
        super().__init__(answered)
        self.freed = threading.Event()

    def scrape(self, result: ScrapeResult) -> None:
        super().scrape(result)
        weakref.finalize(result, self.freed.set)


def test_a_thread_that_waits_keeps_nothing_of_the_last_scrape(pipe: Pipe) -> None:
    pipe.answered.set()
    scraper = FreedScraper(pipe.answered)
    thread = pipe.thread(scraper)
    thread.submit(request(7, 60))
    pipe.receive()
    assert scraper.freed.wait(20)
    thread.end()


def test_a_target_without_a_thread_is_answered_and_tried_again(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.answered.set()
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if thread.name.startswith("target"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    thread = pipe.thread()
    thread.submit(request(7, 60))
    assert "TasksMax" in pipe.receive().summary.error
    monkeypatch.setattr(threading.Thread, "start", start)
    thread.submit(request(8, 60))
    assert pipe.receive().config_snapshot
    thread.end()


def test_a_late_answer_is_sent_even_if_there_is_no_thread_for_it(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = pipe.thread()
    thread.submit(request(7, 0.5))

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    late = pipe.receive()
    assert late.number == 7 and late.config_snapshot is None
    pipe.answered.set()
    pipe.receive()
    thread.end()
