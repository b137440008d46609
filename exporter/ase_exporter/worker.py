"""A worker process: the targets given to it, one thread each, so that a driver's crash or hang stays here.

Started by `pool` as `python -m ase_exporter.worker DESCRIPTOR LOG_FORMAT LOG_LEVEL`.
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
from functools import partial
from typing import cast

from ase_exporter import logs, memory
from ase_exporter.catalogue import Catalogue
from ase_exporter.changes.detect import Watch
from ase_exporter.config import Config, Target
from ase_exporter.families import render_bytes
from ase_exporter.ipc import (
    Admission,
    Assignment,
    Dismissal,
    Message,
    Ready,
    ScrapeReply,
    ScrapeRequest,
    pack,
    unpack,
)
from ase_exporter.refusal import Refusal, Refusals
from ase_exporter.run import Run
from ase_exporter.scrape import TargetScraper
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.turns import turns
from ase_exporter.watchdog import Watchdog

log = logging.getLogger(__name__)

# Many threads that each fetch many rows: pyodbc gives the GIL away at every row, and the default of 5 ms
# lets one thread that renders text slow another's fetch a hundredfold.
SWITCH_INTERVAL = 0.0005
# An answer that its thread does not give leaves this long after the deadline, with what there is.
LATE_AFTER = 0.2
# A thread that this long after its deadline has been at one thing for as long does not come back: only another
# process helps. Sooner would be wrong: with many targets and little CPU all are late, and to log in everywhere again
# costs still more.
STUCK_AFTER = 6.0
# The watchdog itself was late by this much: the process gets no CPU, which says nothing about the driver.
STARVED = 1.0
STUCK_STATUS = 3
# Most memory of the process, in bytes, and what a target adds: a thread's stack, of which little is ever touched,
# and what is kept of it. A server that announces a value of 2 GiB then costs its connection, not the machine.
MEMORY = 512 << 20
MEMORY_PER_TARGET = 16 << 20
_PR_SET_PDEATHSIG = 1

# A scrape, what it has so far, and what calls off its late answer.
_Asked = tuple[ScrapeRequest, Run, Callable[[], None]]


class TargetThread:
    """One target's thread: takes scrapes one after the other. idle: seconds after which it logs out."""

    def __init__(self, scraper: TargetScraper, worker: "Worker", idle: float | None) -> None:
        self._scraper = scraper
        self._idle = idle
        self._worker = worker
        self._requests: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._under_way: Run | None = None
        self._thread = threading.Thread(target=self._loop, name=f"target {scraper.name}", daemon=True)
        self._thread.start()

    def submit(self, request: ScrapeRequest) -> None:
        """Queue one scrape; its reply goes to the worker's socket, on time whatever happens here."""
        run = Run(request.deadline, request.collectors, [list(request.families)], request.module)
        late = self._worker.watchdog.at(
            request.deadline + LATE_AFTER, partial(self._answer_late, request, run)
        )
        self._requests.put((request, run, late))

    def end(self) -> None:
        """Log out, when what was submitted is done."""
        self._requests.put(None)

    def _loop(self) -> None:
        while True:
            try:
                asked = self._requests.get(timeout=self._idle if self._scraper.connected else None)
            except queue.Empty:
                self._scraper.close()
                continue
            if asked is None:
                self._scraper.close()
                return
            request, run, late = asked
            if time.monotonic() >= request.deadline:
                continue
            self._under_way = run
            back = self._expect_back(run, request.deadline + STUCK_AFTER)
            with turns.taken():
                try:
                    self._scraper.scrape(run)
                finally:
                    self._under_way = None
                    back()
                    late()
                if run.finish():
                    self._worker.reply(request, run, late=False)

    def _answer_late(self, request: ScrapeRequest, run: Run) -> None:
        if run.finish():
            threading.Thread(
                target=self._worker.reply, args=(request, run), kwargs={"late": True}, daemon=True
            ).start()

    def _expect_back(self, run: Run, due: float) -> Callable[[], None]:
        return self._worker.watchdog.at(due, partial(self._give_up, run, due))

    def _give_up(self, run: Run, due: float) -> None:
        if run is not self._under_way:
            return
        if time.monotonic() - due > STARVED or turns.stands_still(self._thread.ident) < STUCK_AFTER:
            self._expect_back(run, time.monotonic() + STUCK_AFTER)
            return
        log.warning("this worker ends: the driver did not come back for target %s", self._scraper.name)
        os._exit(STUCK_STATUS)


class Worker:
    """The process: reads requests, writes replies."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._writing = threading.Lock()
        self.watchdog = Watchdog()

    def run(self) -> None:
        """Serve until the front goes away."""
        assignment = unpack(self._read_exactly)
        if not isinstance(assignment, Assignment):
            raise TypeError(f"expected an Assignment first, not {type(assignment).__name__}")
        catalogue: Catalogue = pickle.loads(assignment.catalogue)
        allow = assignment.config.allow
        _bound_memory(len(assignment.targets) + (allow.most if allow.addresses else 0))
        threads: dict[str, TargetThread] = {}

        def admit(target: Target, refusals: Refusals) -> None:
            scraper = _scraper(assignment.config, target, catalogue, refusals)
            threads[target.name] = TargetThread(scraper, self, target.close_idle_after)

        for target in assignment.targets:
            admit(target, assignment.refusals.get(target.name, Refusals()))
        memory.give_back()
        self._send(Ready())
        while True:
            match unpack(self._read_exactly):
                case ScrapeRequest() as request:
                    threads[request.target].submit(request)
                case Admission(target, refusals):
                    admit(target, refusals)
                case Dismissal(name):
                    threads.pop(name).end()

    def reply(self, request: ScrapeRequest, run: Run, *, late: bool) -> None:
        """Render what the run has and send it. late: while its thread is still at it."""
        try:
            answer = _answer(request, run, late)
        except Exception:
            # A defect of ours must cost one target one scrape, not its thread.
            log.exception("target %s: what was read cannot be written", request.target)
            answer = ScrapeReply(request.number, b"", up=False, error="unexpected error, see the log")
        with self._writing, contextlib.suppress(BrokenPipeError):
            self._send(answer)

    def _send(self, message: Message) -> None:
        for part in pack(message):
            self._connection.sendall(part)

    def _read_exactly(self, count: int) -> bytes:
        chunks = []
        while count:
            chunk = self._connection.recv(min(count, 1 << 20))
            if not chunk:
                raise EOFError
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)


def _bound_memory(targets: int) -> None:
    limit = MEMORY + targets * MEMORY_PER_TARGET
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _answer(request: ScrapeRequest, run: Run, late: bool) -> ScrapeReply:
    families = run.all_families(late)
    body = render_bytes(families, openmetrics=request.openmetrics)
    return ScrapeReply(
        number=request.number,
        body=gzip.compress(body, compresslevel=1, mtime=0) if request.compress else body,
        up=run.up,
        error=run.error,
        version=run.version,
        series=sum(len(family.samples) for family in families),
        look=run.look,
        stretched=run.stretched,
        refusals=run.refusals,
    )


def _scraper(config: Config, target: Target, catalogue: Catalogue, refusals: Refusals) -> TargetScraper:
    watch = Watch(config.changes.interval) if config.changes.enabled else None
    return TargetScraper(
        target,
        config.auth[target.auth],
        config.module(target.module),
        config.scrape,
        catalogue,
        watch,
        _sysmon(config, target, refusals.sysmon),
        {"default": config.module("default"), **config.modules},
        refusals.scrape,
    )


def _sysmon(config: Config, target: Target, refusal: Refusal | None) -> SysmonRunner | None:
    if target.sysmon is None:
        return None
    runner = SysmonRunner(target, config.auth[target.sysmon.auth], target.sysmon, refusal=refusal)
    runner.start()
    return runner


def main() -> None:
    """Entry point. Arguments: the descriptor of the socket to the front, log format and log level."""
    descriptor, log_format, log_level = sys.argv[1:]
    logs.configure(cast(logs.Format, log_format), cast(logs.Level, log_level))
    # The front is gone, even by SIGKILL: so are we.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setswitchinterval(SWITCH_INTERVAL)
    memory.settle()
    memory.collect_rarely()
    with contextlib.suppress(EOFError, ConnectionError), socket.socket(fileno=int(descriptor)) as connection:
        Worker(connection).run()
    # Threads may be inside the driver: nobody waits for them.
    os._exit(0)


if __name__ == "__main__":
    main()
