"""The counters: they grow at the rates of the operating point and restart with the server."""

from dataclasses import dataclass, field

import numpy as np

from ase_simulator.model.operation import CACHE_COLUMNS, OBJECT_COLUMNS, Operation
from ase_simulator.model.queueing import Array

ENGINE_KINDS = ("user", "system", "io", "idle")
SESSION_COLUMNS = ("transactions", "cpu_seconds", "wait_seconds")

_INT = 2.0**31


def _zeros(size: int) -> Array:
    return np.zeros(size)


@dataclass(slots=True)
class Counters:
    """Since the server's start.

    grabs, waits, spins: per slot of `names`. engines: seconds of each of ENGINE_KINDS by engine number.
    flows: units of each flow of the operation. caches: CACHE_COLUMNS by cache; objects: OBJECT_COLUMNS of
    each table. sessions: SESSION_COLUMNS of each user of the workload.
    """

    names: tuple[str, ...] = ()
    grabs: Array = field(default_factory=lambda: _zeros(0))
    waits: Array = field(default_factory=lambda: _zeros(0))
    spins: Array = field(default_factory=lambda: _zeros(0))
    engines: dict[str, Array] = field(default_factory=lambda: {kind: _zeros(0) for kind in ENGINE_KINDS})
    flows: dict[str, float] = field(default_factory=dict)
    caches: dict[str, Array] = field(default_factory=dict)
    objects: Array = field(default_factory=lambda: np.zeros((0, len(OBJECT_COLUMNS))))
    sessions: Array = field(default_factory=lambda: np.zeros((0, len(SESSION_COLUMNS))))

    def lay_out(self, operation: Operation, online: list[int], users: int) -> None:
        """Adjust the arrays to an operation; counters of what remains keep their values."""
        if operation.names != self.names:
            self._move_slots(operation.names)
        wanted = max(online) + 1
        for kind, seconds in self.engines.items():
            if len(seconds) < wanted:
                self.engines[kind] = np.pad(seconds, (0, wanted - len(seconds)))
        if len(self.objects) < len(operation.objects):
            self.objects = np.zeros_like(operation.objects)
        if len(self.sessions) != users:
            kept = self.sessions[:users]
            self.sessions = np.pad(kept, ((0, users - len(kept)), (0, 0)))
        for name in operation.caches:
            self.caches.setdefault(name, _zeros(len(CACHE_COLUMNS)))
        for name in operation.flows:
            self.flows.setdefault(name, 0.0)

    def grow(self, operation: Operation, online: list[int], shares: Array, seconds: float) -> None:
        """Grow all counters at one operating point. shares: part of all transactions of each user."""
        point = operation.point
        self.grabs += point.grab_rate * seconds
        self.waits += point.wait_rate * seconds
        self.spins += operation.spin_rate * seconds
        for kind, parts in operation.engine_rates.items():
            self.engines[kind][online] += parts * seconds
        for flow, rate in operation.flows.items():
            self.flows[flow] += rate * seconds
        for name, rates in operation.caches.items():
            self.caches[name] += rates * seconds
        self.objects += operation.objects * seconds
        used = np.array([point.throughput, point.busy, operation.waiting]) * seconds
        self.sessions += shares[:, np.newaxis] * used

    def start_near_wrap(self, operation: Operation, seconds: float) -> None:
        """Set the counters of int columns so that each wraps after `seconds` at that operating point."""
        for flow, rate in operation.flows.items():
            if rate > 0:
                self.flows[flow] = max(_INT - rate * seconds, 0.0)
        for name, rates in operation.caches.items():
            self.caches[name] = _before_wrap(rates, seconds)
        self.objects = _before_wrap(operation.objects, seconds)

    def _move_slots(self, names: tuple[str, ...]) -> None:
        old, new = slot_ranges(self.names), slot_ranges(names)
        for kind in ("grabs", "waits", "spins"):
            before: Array = getattr(self, kind)
            after = _zeros(len(names))
            for name, (start, end) in new.items():
                if name in old:
                    kept = before[old[name][0] : min(old[name][1], old[name][0] + end - start)]
                    after[start : start + len(kept)] = kept
            setattr(self, kind, after)
        self.names = names


def _before_wrap(rates: Array, seconds: float) -> Array:
    start: Array = np.where(rates > 0, np.maximum(_INT - rates * seconds, 0.0), 0.0)
    return start


def slot_ranges(names: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """name -> [start, end) of its slots, which are adjacent."""
    ranges: dict[str, tuple[int, int]] = {}
    for index, name in enumerate(names):
        ranges[name] = (ranges.get(name, (index, 0))[0], index + 1)
    return ranges
