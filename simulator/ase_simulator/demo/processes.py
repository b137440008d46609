"""Child processes and their ports: checks that these are free, starts each process, detects early exits, stops all."""

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from ase_simulator.usage import UsageError

HOST = "127.0.0.1"
STOP_SECONDS = 10.0


class Ports(NamedTuple):
    """The port of each process on 127.0.0.1: one block of consecutive ones."""

    exporter: int
    simulator: int
    prometheus: int
    alertmanager: int
    node_exporter: int
    webhook: int
    grafana: int

    @classmethod
    def from_base(cls, base: int) -> Self:
        """Assign consecutive ports from `base`. Raises UsageError if one is invalid or in use."""
        last = 65536 - len(cls._fields)
        if not 1024 <= base <= last:
            raise UsageError(f"demo: --port-base {base}: expected 1024 to {last}")
        ports = cls(*range(base, base + len(cls._fields)))
        for user, port in ports._asdict().items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError as error:
                    taken = f"port {port} (for the {user}) is not free: {error.strerror}"
                    raise UsageError(f"demo: {taken}; move all with --port-base") from None
        return ports


class Processes:
    """Starts processes, and stops them all, last started first, when the block is left.

    Each gets its own session, so that Ctrl-C reaches this process only, which decides the order of shutdown.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Terminate all; kill those that do not exit within STOP_SECONDS."""
        for process in reversed(self._running.values()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str]) -> None:
        """Start `command` with output to NAME.log. Raises UsageError if the program cannot be run."""
        with self._log(name).open("wb") as log:
            try:
                self._running[name] = subprocess.Popen(
                    [str(part) for part in command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=dict(env),
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(f"demo: cannot start {name}: {error}; `make demo` installs it") from None

    def check(self) -> None:
        """Raise UsageError with the last line of its log if a process has exited."""
        for name, process in self._running.items():
            if process.poll() is not None:
                path = self._log(name)
                lines = path.read_text(errors="replace").strip().splitlines() or ["no output"]
                raise UsageError(f"demo: {name} ended with code {process.returncode}: {lines[-1]} ({path})")

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"
