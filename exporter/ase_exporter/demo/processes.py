"""Child processes: starts each with a log file of its own, detects early exits, stops all."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from ase_exporter.errors import UserError

STOP_SECONDS = 10.0


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
