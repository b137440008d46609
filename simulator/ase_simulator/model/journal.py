"""Times of single events of a flow: the n-th deadlock.

Between two changes a flow has a constant rate, so its stretches give the second of each event, the same
for every reader.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

FLOWS = ("deadlocks", "lock_timeouts")

_KEPT = 200


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `second` on, the flow has `rate` per second; the counter was `count` at that second."""

    second: float
    count: float
    rate: float


@dataclass(slots=True)
class Journal:
    """The latest stretches of each flow that has events."""

    stretches: dict[str, deque[Stretch]] = field(
        default_factory=lambda: {flow: deque(maxlen=_KEPT) for flow in FLOWS}
    )

    def begin(self, second: float, counts: dict[str, float], rates: dict[str, float]) -> None:
        for flow, stretches in self.stretches.items():
            stretches.append(Stretch(second, counts[flow], rates[flow]))

    def latest(self, flow: str, count: float, limit: int) -> Iterator[tuple[int, float]]:
        """Number (from 1) and second of the latest events, oldest first; count: the counter's present value."""
        number = max(1, int(count) - limit + 1)
        stretches = list(self.stretches[flow])
        for index, stretch in enumerate(stretches):
            end = stretches[index + 1].count if index + 1 < len(stretches) else count
            while number <= int(end) and stretch.rate > 0:
                if number > stretch.count:
                    yield number, round(stretch.second + (number - stretch.count) / stretch.rate, 3)
                number += 1
