"""The process that `serve` becomes. It owns the listening socket and keeps one child that serves.

A crash of the driver ends the child. The next one answers what has waited in the socket meanwhile. The supervisor
imports little, as it lives as long as the exporter and does nothing.
"""

import logging
import mmap
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ase_exporter.ase.call_record import call_record
from ase_exporter.backoff import Backoff
from ase_exporter.errors import UserError

log = logging.getLogger(__name__)

# Seconds without a heartbeat in which the child could run, after which it is killed: it is stopped, or its event loop
# hangs. For the first one it has longer.
HUNG_AFTER, START_TIMEOUT = 10.0, 60.0
# Seconds between two looks at the heartbeat.
TICK = 1.0
# Seconds for the child to end after SIGTERM.
STOP_TIMEOUT = 10.0
# Seconds before the next child is started: doubled with each one that died within YOUNG seconds. A driver that crashes
# every minute must cost the requests that wait no more than the start, and a scrape has ten seconds.
PAUSE, MAX_PAUSE, YOUNG = 0.1, 5.0, 30.0
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Legacy:
    """What a child gets of those before it.

    restarts: how often one has died. parent: descriptor of a pipe that ends with the supervisor. logins: memory of the
    login ledger. configuration, web: descriptors of memory for that, and for the web configuration with the files that
    it names. The call record is in memory that they share, too.
    """

    def __init__(self) -> None:
        self.restarts = 0
        # Nobody ever writes.
        self.parent, self._writing = os.pipe()
        self.logins = mmap.mmap(-1, 1 << 20)
        self.configuration = os.memfd_create("configuration")
        self.web = [os.memfd_create("web configuration") for _ in range(4)]

    def inherit(self) -> None:
        """Called in the child: the end of the pipe that shows that the supervisor lives is the supervisor's alone."""
        os.close(self._writing)


class Supervisor:
    """Keeps one child. serve: called in the child, with what it inherits; never returns, but may raise UserError."""

    def __init__(self, serve: Callable[[Legacy], NoReturn]) -> None:
        self._serve = serve
        self._legacy = Legacy()
        self._pauses: Backoff[str, None] = Backoff(PAUSE, MAX_PAUSE)
        self._stopping = False

    def run(self) -> int:
        """Supervise until SIGTERM or SIGINT; returns the exit status, that of a first child that never serves."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        while not self._stopping:
            began, status = time.monotonic(), 1
            try:
                if not (child := self._fork()):
                    self._serve(self._legacy)
                status = self._watch(child, began)
                died = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
            except OSError as error:
                # Out of processes or memory.
                died = f"cannot be started: {error.strerror}"
            if not self._stopping:
                if not call_record.heartbeat:
                    return max(status, 1)
                if time.monotonic() - began > YOUNG:
                    self._pauses.clear("child")
                pause = self._pauses.note("child", None, time.monotonic())
                log.error("the process that serves %s; the next one starts in %.1f s", died, pause)
                self._legacy.restarts += 1
                self._await_signal(pause)
        return 0

    def _fork(self) -> int:
        """Start a child; returns its process id, 0 in the child. Raises OSError."""
        child = os.fork()
        if not child:
            self._legacy.inherit()
            # A reload that is asked for meanwhile waits until the child handles it, instead of ending it.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, set(_SIGNALS) - {signal.SIGHUP})
        return child

    def _watch(self, child: int, began: float) -> int:
        """Pass signals on until the child has ended; returns its exit status, or minus the signal that ended it.

        began: when it was about to be started, as it may have beaten before it is watched.
        """
        silence, kill_at = _Silence(child), 0.0
        while True:
            number = self._await_signal(TICK)
            if self._stopping and not kill_at:
                kill_at = time.monotonic() + STOP_TIMEOUT
                os.kill(child, signal.SIGTERM)
            elif number == signal.SIGHUP:
                os.kill(child, signal.SIGHUP)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            silent = silence.look()
            limit = HUNG_AFTER if call_record.heartbeat > began else START_TIMEOUT
            if time.monotonic() > kill_at if kill_at else silent > limit:
                log.error("the process that serves hangs and is killed")
                os.kill(child, signal.SIGKILL)

    def _await_signal(self, seconds: float) -> int:
        """Wait for a signal for so long at most; returns its number, 0 for none."""
        found = signal.sigtimedwait(_SIGNALS, seconds)
        if found and found.si_signo in (signal.SIGTERM, signal.SIGINT):
            self._stopping = True
        return found.si_signo if found else 0


class _Silence:
    """How long a child could run and has not beaten.

    On a busy machine a process may wait for a processor for many seconds. That shows no hang, and does not count. Nor
    does the time in which the supervisor did not run either.
    """

    def __init__(self, child: int) -> None:
        self._child = child
        self._looked = time.monotonic()
        self._beat = self._waited = self._seconds = 0.0

    def look(self) -> float:
        """Seconds since the last heartbeat."""
        before, self._looked = self._looked, time.monotonic()
        if self._beat != call_record.heartbeat:
            self._beat, self._seconds = call_record.heartbeat, 0.0
            self._waited = waited_for_cpu(self._child)
        else:
            waited, self._waited = self._waited, waited_for_cpu(self._child)
            self._seconds += max(0.0, min(self._looked - before, 2 * TICK) - max(0.0, self._waited - waited))
        return self._seconds


def waited_for_cpu(process: int) -> float:
    """Seconds that the threads of a process have waited for a processor; 0 where the kernel does not count them.

    Those of all threads together, as the event loop may wait for one that waits.
    """
    try:
        return sum(map(_waited, Path(f"/proc/{process}/task").iterdir()))
    except OSError:
        return 0.0


def _waited(thread: Path) -> float:
    try:
        return int((thread / "schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, LookupError, ValueError):
        # The thread has ended, or the kernel has no such file.
        return 0.0


def listen(address: str) -> socket.socket:
    """A listening socket for HOST:PORT, [IPV6]:PORT or :PORT (all addresses). Raises UserError."""
    host, separator, port = address.rpartition(":")
    host = host.strip("[]")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise UserError(f"--web.listen-address: {address!r}: expected HOST:PORT, with a port up to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(512)
    except OSError as error:
        listener.close()
        reason = f"{error.strerror or error}: expected an address of this machine, and a port that is free"
        raise UserError(f"--web.listen-address: {address}: {reason}") from error
    return listener
