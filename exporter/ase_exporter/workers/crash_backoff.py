"""Pauses for targets whose scrapes end their worker: each time, the worker's other targets miss a scrape too."""

import logging
import time
from collections.abc import Callable, Iterable

from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.backoff import Backoff

log = logging.getLogger(__name__)


class CrashBackoff:
    """Counts, by target, the workers that ended during its scrapes.

    All targets that a worker was scraping are counted, as nobody knows which one ended it; the first scrape that
    ends clears a target. The first time may be an accident; from the second on there are pauses that grow.
    """

    def __init__(self, timing: Timing = TIMING, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._backoff: Backoff[str, None] = Backoff(timing.crash_pause, timing.max_crash_pause)
        self.clear = self._backoff.clear

    def note(self, targets: Iterable[str]) -> None:
        """A worker ended while it scraped these targets."""
        for target in targets:
            if self._backoff.note(target, None, self._monotonic(), accident=True):
                log.warning("target %s: %s", target, self.forbids(target))

    def forbids(self, target: str) -> str:
        """Why the target must not be scraped now; '' if it may be."""
        left = self._backoff.seconds_left(target, self._monotonic())
        times = self._backoff.times(target)
        return (
            f"its scrapes ended a worker {times} times in a row; tried again in {left:.0f} s" if left else ""
        )
