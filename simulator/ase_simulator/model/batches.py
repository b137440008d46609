"""Batches: fixed amounts of work whose elapsed time shows the cost of contention."""

from collections import deque
from dataclasses import dataclass, field

from ase_simulator.model.workload import Batch

_KEPT = 100
_DONE = 1e-6


@dataclass(frozen=True, slots=True)
class Run:
    """One run, in seconds of simulated time; end: None while it is running."""

    number: int
    start: float
    end: float | None
    transactions: float
    aborted: bool = False


@dataclass(slots=True)
class BatchRuns:
    """The present run or pause, and the finished runs."""

    pausing: bool = False
    since: float = 0.0
    done: float = 0.0
    number: int = 1
    finished: deque[Run] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def next_change(self, batch: Batch, throughput: float, now: float) -> float:
        """The second at which the run or pause ends at the present throughput."""
        if self.pausing:
            return self.since + batch.pause_s
        left = max(batch.transactions - self.done, 0.0)
        end = now + left / throughput if throughput > 0 else float("inf")
        return max(now, min(end, self.since + batch.abort_s if batch.abort_s else float("inf")))

    def grow(self, transactions: float) -> None:
        if not self.pausing:
            self.done += transactions

    def turn(self, batch: Batch, now: float) -> None:
        """End the run and begin the pause, or the reverse."""
        if not self.pausing:
            aborted = self.done < batch.transactions * (1 - _DONE)
            self.finished.append(Run(self.number, self.since, now, self.done, aborted))
            self.number += 1
        self.pausing = not self.pausing
        self.since, self.done = now, 0.0

    def restart(self, now: float) -> None:
        """The server restarts: the present run is lost."""
        self.pausing, self.since, self.done = False, now, 0.0

    def all(self) -> list[Run]:
        """The finished runs that are remembered, and the present one."""
        running = [] if self.pausing else [Run(self.number, self.since, None, self.done)]
        return [*self.finished, *running]
