"""Batches: lumps of work whose elapsed time shows what contention costs."""

from collections import deque
from dataclasses import dataclass, field

from ase_simulator.model.workload import Batch

_KEPT = 100
_DONE = 1e-6


@dataclass(frozen=True, slots=True)
class Run:
    """One run, in seconds of simulated time; end: None while it goes on."""

    number: int
    start: float
    end: float | None
    transactions: float
    aborted: bool = False


@dataclass(slots=True)
class BatchRuns:
    """The run that goes on, or the pause, and the runs before."""

    pausing: bool = False
    since: float = 0.0
    done: float = 0.0
    number: int = 1
    finished: deque[Run] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def next_change(self, batch: Batch, throughput: float, now: float) -> float:
        """The second at which the run or the pause ends if nothing changes."""
        if self.pausing:
            return self.since + batch.pause_s
        left = max(batch.transactions - self.done, 0.0)
        end = now + left / throughput if throughput > 0 else float("inf")
        return max(now, min(end, self.since + batch.abort_s if batch.abort_s else float("inf")))

    def grow(self, transactions: float) -> None:
        """Work was done."""
        if not self.pausing:
            self.done += transactions

    def turn(self, batch: Batch, now: float) -> None:
        """The run ends and the pause begins, or the other way round."""
        if not self.pausing:
            aborted = self.done < batch.transactions * (1 - _DONE)
            self.finished.append(Run(self.number, self.since, now, self.done, aborted))
            self.number += 1
        self.pausing = not self.pausing
        self.since, self.done = now, 0.0

    def restart(self, now: float) -> None:
        """The server starts anew: what ran is lost."""
        self.pausing, self.since, self.done = False, now, 0.0

    def running(self) -> Run | None:
        """The run that goes on."""
        return None if self.pausing else Run(self.number, self.since, None, self.done)
