"""The server's error log."""

from collections import deque
from dataclasses import dataclass, field

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the error log at a simulated second."""

    second: float
    text: str
    number: int = 0
    severity: int = 0


@dataclass(slots=True)
class ErrorLog:
    """The latest entries, oldest first."""

    entries: deque[LogEntry] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def write(self, second: float, text: str, number: int = 0, severity: int = 0) -> None:
        self.entries.append(LogEntry(second, text, number, severity))

    def start(self, second: float, server: str, engines: int) -> None:
        self.write(second, f"ASE booted: simulated server '{server}'.")
        for engine in range(engines):
            self.write(second, f"engine {engine}, os pid 4711  online")
        self.write(second, "Recovery complete.")
