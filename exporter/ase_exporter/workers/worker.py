"""A worker process: scrapes the targets assigned to it, one thread each.

A crash or hang of the driver stays in this process. Started by `pool` as
`python -m ase_exporter.workers.worker DESCRIPTOR LOG_FORMAT LOG_LEVEL`.
"""

import contextlib
import ctypes
import gzip
import logging
import os
import pickle
import queue
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from ase_exporter import logs, malloc
from ase_exporter.ase.gil_scheduler import gil_scheduler
from ase_exporter.ase.login_ledger import LedgerClient, Permit
from ase_exporter.ase.timing import TIMING
from ase_exporter.ase.watchdog import Watchdog
from ase_exporter.catalogue import Catalogue
from ase_exporter.changes.detect import ConfigWatcher
from ase_exporter.config import Config, Target
from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.metrics.saved_totals import SavedTotals
from ase_exporter.scraping.result import ScrapeResult, ScrapeSummary
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.workers.messages import (
    Admission,
    Assignment,
    Dismissal,
    Message,
    Ready,
    ScrapeReply,
    ScrapeRequest,
    Started,
    pack,
    read,
)

if TYPE_CHECKING:
    from ase_exporter.sysmon.runner import SysmonRunner

log = logging.getLogger(__name__)

# Seconds. pyodbc releases the GIL at every row; with the default of 5 ms, one thread that renders text would slow
# the fetch of another a hundredfold.
SWITCH_INTERVAL = 0.0005
STUCK_STATUS = 3
NO_THREAD = (
    "no thread can be started: the limit of tasks is reached (TasksMax of the unit, or the pids cgroup)"
)
# The memory limit of the process in bytes, and what each target adds: a thread's stack, of which little is ever
# used, and the target's state. A server that announces a value of 2 GiB then costs its connection, not the machine.
MAX_MEMORY = 512 << 20
MAX_MEMORY_PER_TARGET = 16 << 20
_PR_SET_PDEATHSIG = 1

# A request, its result so far, and the function that cancels its late answer.
_Queued = tuple[ScrapeRequest, ScrapeResult, Callable[[], None]]


class TargetThread:
    """One target's thread, which scrapes one request after the other.

    idle_timeout: seconds without a request after which it logs out; None for never.
    """

    def __init__(self, scraper: TargetScraper, worker: "Worker", idle_timeout: float | None) -> None:
        self._scraper = scraper
        self._idle_timeout = idle_timeout
        self._worker = worker
        self._requests: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._current: ScrapeResult | None = None
        # Started with the first request, since there may be no thread left for it.
        self._thread: threading.Thread | None = None

    def submit(self, request: ScrapeRequest) -> None:
        """Queue one scrape. Its reply is sent on time, even if the thread hangs or cannot be started."""
        result = ScrapeResult(
            request.deadline,
            request.collectors,
            request.families,
            request.module,
            session_groups=request.session_groups,
        )
        try:
            self._start()
            cancel_late = self._worker.watchdog.at(
                request.deadline + TIMING.late_after, partial(self._answer_late, request, result)
            )
        except RuntimeError:
            result.error_kind, result.summary.error = "internal", NO_THREAD
            log.error("target %s: %s", self._scraper.name, NO_THREAD)
            self._worker.reply(request, result)
            return
        self._requests.put((request, result, cancel_late))

    def end(self) -> None:
        """Log out and end the thread after the queued scrapes."""
        if self._thread:
            self._requests.put(None)

    def _start(self) -> None:
        """Start the thread. Raises RuntimeError if that is not possible."""
        if self._thread is None:
            thread = threading.Thread(target=self._loop, name=f"target {self._scraper.name}", daemon=True)
            thread.start()
            self._thread = thread

    def _loop(self) -> None:
        while True:
            try:
                queued = self._requests.get(timeout=self._idle_timeout if self._scraper.connected else None)
            except queue.Empty:
                self._scraper.close()
                continue
            if queued is None:
                self._scraper.close()
                return
            try:
                self._scrape(*queued)
            except Exception:
                # A bug of the exporter must cost one target one scrape, not its thread.
                log.exception("target %s: unexpected error", self._scraper.name)
                self._worker.fail(queued[0])
            # While the thread waits, nothing keeps what the scrape found.
            del queued

    def _scrape(self, request: ScrapeRequest, result: ScrapeResult, cancel_late: Callable[[], None]) -> None:
        if time.monotonic() >= request.deadline:
            return
        self._current = result
        cancel_stuck = self._check_stuck_at(result, request.deadline + TIMING.stuck_after)
        with gil_scheduler.held():
            try:
                self._scraper.scrape(result)
            finally:
                self._current = None
                cancel_stuck()
                cancel_late()
            answered = not result.finish()
            totals = self._scraper.saved_totals(result)
            self._worker.reply(request, result, answered=answered, totals=totals)

    def _answer_late(self, request: ScrapeRequest, result: ScrapeResult) -> None:
        """Send what was read so far. In a thread, as the watchdog must not block."""
        if result.finish():
            reply = partial(self._worker.reply, request, result, late=True)
            try:
                threading.Thread(target=reply, daemon=True).start()
            except RuntimeError:
                # No thread left: reply on the watchdog thread; it blocks only until the web process reads.
                reply()

    def _check_stuck_at(self, result: ScrapeResult, due: float) -> Callable[[], None]:
        return self._worker.watchdog.at(due, partial(self._exit_if_stuck, result, due))

    def _exit_if_stuck(self, result: ScrapeResult, due: float) -> None:
        """End the process if the thread is still in the same scrape, and in one call for too long."""
        if result is not self._current:
            return
        now = time.monotonic()
        starved = now - due > TIMING.starved_after
        if (
            starved
            or gil_scheduler.seconds_at_one_call(self._thread.ident if self._thread else None)
            < TIMING.stuck_after
        ):
            self._check_stuck_at(result, now + TIMING.stuck_after)
            return
        log.warning("worker exiting: driver call for target %s never returned", self._scraper.name)
        os._exit(STUCK_STATUS)


class Worker:
    """The main loop of the process: reads requests from the socket, threads write replies to it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._writing = threading.Lock()
        self.watchdog = Watchdog()

    def run(self) -> None:
        """Serve until the web process closes the socket. Raises EOFError then."""
        messages = self._connection.makefile("rb")
        self._send(Started())
        assignment = read(messages)
        assert isinstance(assignment, Assignment)
        catalogue: Catalogue = pickle.loads(assignment.catalogue)
        ledger = LedgerClient(self._send, assignment.login_salt)
        _limit_memory(len(assignment.admissions))
        threads: dict[str, TargetThread] = {}

        def admit(admission: Admission) -> None:
            target = admission.target
            scraper = _scraper(assignment.config, target, catalogue, ledger, admission.sysmon_halted)
            scraper.restore_totals(admission.totals)
            threads[target.name] = TargetThread(scraper, self, target.close_idle_after)

        for admission in assignment.admissions:
            admit(admission)
        malloc.give_back()
        self._send(Ready())
        while True:
            match read(messages):
                case ScrapeRequest() as request:
                    threads[request.target].submit(request)
                case Permit() as permit:
                    ledger.answer(permit)
                case Admission() as admission:
                    admit(admission)
                case Dismissal(name):
                    threads.pop(name).end()

    def reply(
        self,
        request: ScrapeRequest,
        result: ScrapeResult,
        *,
        late: bool = False,
        answered: bool = False,
        totals: SavedTotals | None = None,
    ) -> None:
        """Send what a scrape found. late: it is still in progress. answered: before, so there is no body."""
        try:
            body = b"" if answered else _render(request, result, late)
        except Exception:
            # A bug of the exporter must cost one target one scrape, not its thread.
            log.exception("target %s: the result cannot be rendered", request.target)
            self.fail(request)
            return
        self._send(
            ScrapeReply(
                request.number,
                body,
                result.summary,
                result.config_snapshot,
                ended=result.ended,
                sysmon_halted=result.sysmon_halted,
                target=request.target,
                totals=totals,
                sessions=result.sessions,
            )
        )

    def fail(self, request: ScrapeRequest) -> None:
        """Answer a scrape that a bug of the exporter has ended."""
        summary = ScrapeSummary(error="unexpected error, see the log")
        self._send(ScrapeReply(request.number, b"", summary, ended=True, target=request.target))

    def _send(self, message: Message) -> None:
        # Without the web process nobody waits, and this process ends.
        with self._writing, contextlib.suppress(OSError):
            for part in pack(message):
                self._connection.sendall(part)


def _limit_memory(targets: int) -> None:
    limit = MAX_MEMORY + targets * MAX_MEMORY_PER_TARGET
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _render(request: ScrapeRequest, result: ScrapeResult, late: bool) -> bytes:
    if request.session_groups:
        return b""
    families = result.all_families(late)
    result.summary.series = sum(len(family.samples) for family in families)
    body = render_bytes(families)
    return gzip.compress(body, compresslevel=1, mtime=0) if request.compress else body


def _scraper(
    config: Config, target: Target, catalogue: Catalogue, ledger: LedgerClient, halted: bool
) -> TargetScraper:
    watch = ConfigWatcher(config.changes.interval) if config.changes.enabled else None
    return TargetScraper(
        replace(target, dumps=(*target.dumps, *config.dumps)),
        config.auth[target.auth],
        config.module(target.module),
        config.scrape,
        catalogue,
        watch,
        _sysmon(config, target, ledger, halted),
        {"default": config.module("default"), **config.modules},
        ledger,
    )


def _sysmon(config: Config, target: Target, ledger: LedgerClient, halted: bool) -> "SysmonRunner | None":
    if target.sysmon is None:
        return None
    # Only targets whose sp_sysmon is run need its parser, which takes 1 MiB.
    from ase_exporter.sysmon.runner import SysmonRunner

    runner = SysmonRunner(
        target,
        config.auth[target.sysmon.auth],
        target.sysmon,
        ledger=ledger,
        halted=halted,
    )
    try:
        runner.start()
    except RuntimeError:
        log.error("target %s: sp_sysmon: %s", target.name, NO_THREAD)
    return runner


def main() -> None:
    """Entry point. Arguments: descriptor of the socket to the web process, log format, log level."""
    descriptor, log_format, log_level = sys.argv[1:]
    logs.configure(cast(logs.Format, log_format), cast(logs.Level, log_level))
    # End with the web process, even if it is killed.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setswitchinterval(SWITCH_INTERVAL)
    malloc.settle()
    malloc.collect_rarely()
    with contextlib.suppress(EOFError, ConnectionError), socket.socket(fileno=int(descriptor)) as connection:
        Worker(connection).run()
    # Threads may hang in the driver, so none is waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
