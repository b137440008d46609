"""What fails is tried less and less often: a statement, a collector, a database, a target that ends the process."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Reason = TypeVar("Reason")


@dataclass(frozen=True, slots=True)
class Failures(Generic[Reason]):
    """times: in a row. until: when it is tried again (monotonic). reason: of the last one."""

    times: int
    until: float
    reason: Reason


class Backoff(Generic[Key, Reason]):
    """Pauses in seconds: `first` after the first failure, doubled with each further one, up to `longest`.

    failures: of what has not succeeded since.
    """

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.failures: dict[Key, Failures[Reason]] = {}

    def note(self, key: Key, reason: Reason, now: float, *, accident: bool = False) -> float:
        """Note a failure; returns its pause. accident: the first one in a row may be an accident and has none."""
        times = self.times(key) + 1
        doublings = times - 1 - accident
        pause = min(self._longest, self._first * 2.0 ** min(doublings, 30)) if doublings >= 0 else 0.0
        self.failures[key] = Failures(times, now + pause, reason)
        return pause

    def clear(self, key: Key) -> None:
        """Note a success."""
        self.failures.pop(key, None)

    def times(self, key: Key) -> int:
        """How often it has failed in a row."""
        return self.failures[key].times if key in self.failures else 0

    def seconds_left(self, key: Key, now: float) -> float:
        """How long it is not tried; 0 if it may be."""
        return max(0.0, self.failures[key].until - now) if key in self.failures else 0.0
