"""Pauses for targets whose scrapes end their worker: each time, the worker's other targets miss a scrape too."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ase_exporter.ase.timing import TIMING, Timing

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Crashes:
    """How often in a row, and until when the target is paused (monotonic)."""

    times: int = 0
    until: float = 0.0


class CrashBackoff:
    """Counts, by target, the workers that ended during its scrapes.

    All targets that a worker was scraping are counted, as nobody knows which one ended it; the first scrape that
    ends clears a target. The first time may be an accident; from the second on there are pauses that grow.
    """

    def __init__(self, timing: Timing = TIMING, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._timing = timing
        self._monotonic = monotonic
        self._crashes: dict[str, _Crashes] = {}

    def note(self, targets: Iterable[str]) -> None:
        """A worker ended while it scraped these targets."""
        for target in targets:
            crashes = self._crashes.setdefault(target, _Crashes())
            crashes.times += 1
            if crashes.times > 1:
                pause = self._timing.crash_pause * 2 ** min(crashes.times - 2, 10)
                crashes.until = self._monotonic() + min(pause, self._timing.max_crash_pause)
                log.warning("target %s: %s", target, self.forbids(target))

    def clear(self, target: str) -> None:
        """A scrape of the target has ended."""
        self._crashes.pop(target, None)

    def forbids(self, target: str) -> str:
        """Why the target must not be scraped now; '' if it may be."""
        crashes = self._crashes.get(target)
        left = crashes.until - self._monotonic() if crashes else 0.0
        if not crashes or left <= 0:
            return ""
        return f"its scrapes ended a worker {crashes.times} times in a row; tried again in {left:.0f} s"
