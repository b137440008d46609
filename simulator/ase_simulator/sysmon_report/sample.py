"""A sample: all counts that a report shows.

Counts may be negative: ASE's counters are signed 32-bit integers, and a report prints them unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Layout = Literal["15.0.3", "15.7", "16.0"]
Loads = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class EngineSample:
    """Clock ticks by state, sleeps, task switches; loads: runnable tasks over 1, 5 and 15 minutes."""

    number: int
    pool: str = "syb_default_pool"
    user: int = 0
    system: int = 0
    io: int = 0
    idle: int = 0
    full_sleeps: int = 0
    interrupted_sleeps: int = 0
    switches: int = 0
    skips: int = 0
    outstanding: int = 0
    async_ios: int = 0
    received: int = 0
    bytes_received: int = 0
    sent: int = 0
    bytes_sent: int = 0
    loads: Loads = (0.0, 0.0, 0.0)

    @property
    def sleeps(self) -> int:
        return self.full_sleeps + self.interrupted_sleeps


@dataclass(frozen=True, slots=True)
class Thread:
    """What the operating system counts of a thread; name: 'Engine 0', 'NetController'."""

    number: int
    pool: str
    name: str
    user_ms: int = 0
    system_ms: int = 0
    voluntary: int = 0
    involuntary: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    @property
    def busy_ms(self) -> int:
        return self.user_ms + self.system_ms


@dataclass(frozen=True, slots=True)
class Controller:
    """One kind of I/O controller: polls, those that returned events and as many as fit, and the events."""

    name: str
    polls: int = 0
    returning: int = 0
    returning_max: int = 0
    events: int = 0


@dataclass(frozen=True, slots=True)
class PoolSample:
    """One buffer pool of a cache; io_kb: its I/O size."""

    io_kb: int
    grabs: int = 0
    grabbed_locked: int = 0
    grabbed_dirty: int = 0
    pages_cached: int = 0
    pages_used: int = 0


@dataclass(frozen=True, slots=True)
class CacheSample:
    """One data cache. spin_grabs, spin_waits: of its spinlocks, all partitions together."""

    name: str
    spin_grabs: int = 0
    spin_waits: int = 0
    hits: int = 0
    found_in_wash: int = 0
    misses: int = 0
    pools: tuple[PoolSample, ...] = ()
    passed_clean: int = 0
    in_io: int = 0
    washed_dirty: int = 0
    cached: int = 0
    discarded: int = 0
    large_performed: int = 0
    large_denied_size: int = 0
    large_denied_resident: int = 0


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """One database device; apf, reads, writes: I/Os."""

    name: str
    path: str
    apf: int = 0
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket size of a bucket pool (16.0)."""

    name: str
    size: int
    allocs: int = 0
    frees: int = 0
    empty: int = 0


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Use of one kind of descriptor: kind is Object, Index, Partition or Database."""

    kind: str
    active: int = 0
    max_used: int = 0
    free: int = 0
    reused: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. counts: every other counter by name; spinlocks: (grabs, waits) by the report's row.

    interval_s: as asked for; elapsed_ms: as measured. cleared: when the counters were last cleared, if they were not
    cleared for this sample.
    """

    server: str
    version: str
    layout: Layout
    started: datetime
    ended: datetime
    interval_s: int
    elapsed_ms: int
    cleared: datetime | None = None
    engines: tuple[EngineSample, ...] = ()
    threads: tuple[Thread, ...] = ()
    controllers: tuple[Controller, ...] = ()
    caches: tuple[CacheSample, ...] = ()
    devices: tuple[DeviceSample, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    descriptors: tuple[Descriptors, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    spinlocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, name: str) -> int:
        """A counter by name; 0 where the model has none."""
        return self.counts.get(name, 0)

    @property
    def transactions(self) -> int:
        """Committed transactions; the divisor of `per xact`."""
        return self.count("xacts")

    @property
    def threaded(self) -> bool:
        return self.layout != "15.0.3"

    @property
    def sixteen(self) -> bool:
        return self.layout == "16.0"
