"""Child processes and their ports: checks that these are free, starts each process, detects early exits, stops all."""

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

from ase_exporter.errors import UserError

HOST = "127.0.0.1"
STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ports:
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
        """Assign consecutive ports from `base`. Raises UserError if one is invalid or in use."""
        count = len(fields(cls))
        if not 1024 <= base <= 65536 - count:
            raise UserError(f"demo: --port-base {base}: expected 1024 to {65536 - count}")
        ports = cls(*range(base, base + count))
        for user, port in asdict(ports).items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError as error:
                    taken = f"port {port} (for the {user}) is not free: {error.strerror}"
                    raise UserError(f"demo: {taken}; move all with --port-base") from None
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
        self.stop()

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str]) -> None:
        """Start `command` with output to NAME.log. Raises UserError if the program cannot be run."""
        with (self._logs / f"{name}.log").open("wb") as log:
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
                raise UserError(f"demo: cannot start {name}: {error}; `make demo` installs it") from None

    def check(self) -> None:
        """Raise UserError with the last line of its log if a process has exited."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise UserError(f"demo: {name} ended with code {process.returncode}: {self._last_line(name)}")

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def stop(self) -> None:
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
        self._running.clear()

    def _last_line(self, name: str) -> str:
        path = self._logs / f"{name}.log"
        lines = path.read_text(errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'no output'} ({path})"
