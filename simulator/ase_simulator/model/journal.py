"""When single events of a flow happened: the n-th deadlock, the n-th statement.

Between two changes a flow runs at a constant rate, so its stretches tell the second of each event, the same
however often somebody asks.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

FLOWS = ("deadlocks", "lock_timeouts", "statements")

_KEPT = 200


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `second` on, when the counter stood at `count`, the flow ran at `rate` per second."""

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
        """A new stretch begins."""
        for flow, stretches in self.stretches.items():
            stretches.append(Stretch(second, counts[flow], rates[flow]))

    def latest(self, flow: str, count: float, most: int) -> Iterator[tuple[int, float]]:
        """Number (from 1) and second of the latest events, oldest first; count: where the counter stands."""
        number = max(1, int(count) - most + 1)
        stretches = list(self.stretches[flow])
        for index, stretch in enumerate(stretches):
            end = stretches[index + 1].count if index + 1 < len(stretches) else count
            while number <= int(end) and stretch.rate > 0:
                if number > stretch.count:
                    yield number, round(stretch.second + (number - stretch.count) / stretch.rate, 3)
                number += 1
