"""A worker process: the targets given to it, one thread each, so that a driver's crash or hang stays here.

Started by `pool` as `python -m ase_exporter.worker DESCRIPTOR LOG_FORMAT LOG_LEVEL`.
"""

import contextlib
import ctypes
import gzip
import os
import queue
import signal
import socket
import sys
import threading
from functools import partial
from typing import cast

from ase_exporter import logs
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.changes.detect import Watch
from ase_exporter.config import Config, Target
from ase_exporter.families import render_openmetrics, render_text
from ase_exporter.ipc import Admission, Assignment, Dismissal, Ready, ScrapeReply, ScrapeRequest, pack, unpack
from ase_exporter.scrape import Run, TargetScraper
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.watchdog import Watchdog

# Many threads that each fetch many rows: pyodbc gives the GIL away at every row, and the default of 5 ms
# lets one thread that renders text slow another's fetch a hundredfold.
SWITCH_INTERVAL = 0.0005
# A thread that is not back this long after its deadline does not come back.
STUCK_AFTER = 0.2
_PR_SET_PDEATHSIG = 1


class TargetThread:
    """One target's thread: takes scrapes one after the other. idle: seconds after which it logs out."""

    def __init__(self, scraper: TargetScraper, worker: "Worker", idle: float | None) -> None:
        self.scraper = scraper
        self._idle = idle
        self._worker = worker
        self._requests: queue.SimpleQueue[ScrapeRequest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name=f"target {scraper.name}", daemon=True)
        self._thread.start()

    def submit(self, request: ScrapeRequest) -> None:
        """Queue one scrape; its reply goes to the worker's socket, on time whatever happens here."""
        self._requests.put(request)

    def end(self) -> None:
        """Log out, when what was submitted is done."""
        self._requests.put(None)

    def _loop(self) -> None:
        while True:
            try:
                request = self._requests.get(timeout=self._idle if self.scraper.connected else None)
            except queue.Empty:
                self.scraper.close()
                continue
            if request is None:
                self.scraper.close()
                return
            run = Run(request.deadline, request.collectors, [list(request.families)], request.module)
            off = self._worker.watchdog.at(
                request.deadline + STUCK_AFTER, partial(self._give_up, request, run)
            )
            try:
                self.scraper.scrape(run)
            finally:
                off()
            if run.finish():
                self._worker.reply(request, run, stuck=False)

    def _give_up(self, request: ScrapeRequest, run: Run) -> None:
        if run.finish():
            threading.Thread(
                target=self._worker.reply, args=(request, run), kwargs={"stuck": True}, daemon=True
            ).start()


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
        catalogue, _ = load_catalogue(assignment.config.catalogue.directories)
        threads: dict[str, TargetThread] = {}
        # Who was refused stays refused: a target that comes and goes must not get its login locked.
        refused: dict[str, TargetScraper] = {}

        def admit(target: Target) -> None:
            scraper = refused.pop(target.name, None) or _scraper(assignment.config, target, catalogue)
            threads[target.name] = TargetThread(scraper, self, target.close_idle_after)

        for target in assignment.targets:
            admit(target)
        self._connection.sendall(pack(Ready()))
        while True:
            match unpack(self._read_exactly):
                case ScrapeRequest() as request:
                    threads[request.target].submit(request)
                case Admission(target):
                    admit(target)
                case Dismissal(name):
                    thread = threads.pop(name)
                    thread.end()
                    if thread.scraper.refused:
                        refused[name] = thread.scraper

    def reply(self, request: ScrapeRequest, run: Run, *, stuck: bool) -> None:
        """Render what the run has and send it."""
        families = run.all_families(stuck)
        body = (render_openmetrics if request.openmetrics else render_text)(families).encode()
        answer = ScrapeReply(
            number=request.number,
            body=gzip.compress(body, compresslevel=1, mtime=0) if request.compress else body,
            up=run.up,
            error=run.error,
            version=run.version,
            series=sum(len(family.samples) for family in families),
            stuck=stuck,
            look=run.look,
            stretched=run.stretched,
        )
        with self._writing, contextlib.suppress(BrokenPipeError):
            self._connection.sendall(pack(answer))

    def _read_exactly(self, count: int) -> bytes:
        chunks = []
        while count:
            chunk = self._connection.recv(min(count, 1 << 20))
            if not chunk:
                raise EOFError
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)


def _scraper(config: Config, target: Target, catalogue: Catalogue) -> TargetScraper:
    watch = Watch(config.changes.interval) if config.changes.enabled else None
    return TargetScraper(
        target,
        config.auth[target.auth],
        config.module(target.module),
        config.scrape,
        catalogue,
        watch,
        _sysmon(config, target),
        {"default": config.module("default"), **config.modules},
    )


def _sysmon(config: Config, target: Target) -> SysmonRunner | None:
    if target.sysmon is None:
        return None
    runner = SysmonRunner(target, config.auth[target.sysmon.auth], target.sysmon)
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
    with contextlib.suppress(EOFError, ConnectionError), socket.socket(fileno=int(descriptor)) as connection:
        Worker(connection).run()
    # Threads may be inside the driver: nobody waits for them.
    os._exit(0)


if __name__ == "__main__":
    main()
