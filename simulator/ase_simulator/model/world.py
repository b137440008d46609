"""The state of one simulated server and its change over time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from ase_simulator.model.batches import BatchRuns
from ase_simulator.model.caches import Caches
from ase_simulator.model.clock import Clock
from ase_simulator.model.counters import Counters
from ase_simulator.model.errorlog import ErrorLog
from ase_simulator.model.inventory import Inventory
from ase_simulator.model.journal import Journal
from ase_simulator.model.operation import Operation, operate
from ase_simulator.model.options import Options
from ase_simulator.model.queueing import Array
from ase_simulator.model.sessions import Sessions
from ase_simulator.model.spinlocks import spread
from ase_simulator.model.workload import Workload

if TYPE_CHECKING:
    from ase_simulator.model.processes import Process

_MAX_EVENTS = 20_000


@dataclass(slots=True)
class Step:
    """Where the scenario's timeline is: number from 1, 0 where there is none; at: its start in seconds."""

    number: int = 0
    name: str = ""
    at: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fill:
    """The share of some space that is used: from `start` at second `since` evenly to `end` at second `until`."""

    start: float = 0.65
    end: float = 0.65
    since: float = 0.0
    until: float = 0.0

    def at(self, seconds: float) -> float:
        if seconds >= self.until:
            return self.end
        return self.start + (self.end - self.start) * (seconds - self.since) / (self.until - self.since)


@dataclass(slots=True)
class World:
    """Everything that the tables show. Call `changed` after changing a setting.

    seconds: simulated time up to which the counters have grown. started, cleared: seconds at which the
    server started and its monitor counters were cleared; at_clear: those counters as they were then.
    online: engines by number. negative_wrap: int columns wrap to negative values, not to 0.
    loading: databases that LOAD DATABASE holds; locked: logins that are locked. database_status: bits of
    sysdatabases.status, status2 and status3 that are set besides, by database. fills: how full the space of a
    database is, by (database, is it the log's). log_dumps: second of the last dump of a database's log.
    rep_agents_stopped: databases without their Replication Agent, since when. grace_ends: second at which the
    licence's grace period ends; None if it has not begun. users_seen: the workload's users as `processes` found them
    last, with the second that they are of.
    """

    name: str
    version: str
    seed: int
    clock: Clock
    options: Options
    caches: Caches
    workload: Workload
    inventory: Inventory
    online: list[int]
    scenario: str = ""
    negative_wrap: bool = False
    step: Step = field(default_factory=Step)
    counters: Counters = field(default_factory=Counters)
    at_clear: dict[tuple[str, str, int], float] = field(default_factory=dict)
    seconds: float = 0.0
    started: float = 0.0
    cleared: float = 0.0
    loading: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    database_status: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    fills: dict[tuple[str, bool], Fill] = field(default_factory=dict)
    log_dumps: dict[str, float] = field(default_factory=dict)
    rep_agents_stopped: dict[str, float] = field(default_factory=dict)
    grace_ends: float | None = None
    sessions: Sessions = field(default_factory=Sessions)
    batches: BatchRuns = field(default_factory=BatchRuns)
    log: ErrorLog = field(default_factory=ErrorLog)
    journal: Journal = field(default_factory=Journal)
    users_seen: "tuple[int, tuple[Process, ...]] | None" = None
    _operation: Operation | None = None

    @property
    def operation(self) -> Operation:
        """The operating point of the present settings."""
        if self._operation is None:
            self._operation = operate(
                self.workload,
                0 if self.batches.pausing else self.workload.users,
                self.options,
                self.caches,
                self.inventory,
                len(self.online),
                self.seed,
            )
            self.counters.lay_out(self._operation, self.online, self.workload.users)
            self.journal.begin(self.seconds, self.counters.flows, self._operation.flows)
        return self._operation

    @property
    def user_shares(self) -> Array:
        """Part of all transactions that each user of the workload does."""
        return spread("users", self.workload.users, 0.1, self.seed)

    def changed(self) -> None:
        """Settings changed: compute a new operating point when it is next needed."""
        self._operation = self.users_seen = None

    def grow(self, seconds: float) -> None:
        """Grow the counters up to that simulated second, through every start and end of a batch."""
        while self.seconds < seconds:
            throughput = self.operation.point.throughput
            batch = self.workload.batch
            change = self.batches.next_change(batch, throughput, self.seconds) if batch else math.inf
            until = min(seconds, change)
            passed = until - self.seconds
            self.counters.grow(self.operation, self.online, self.user_shares, passed)
            self.seconds = until
            if batch:
                self.batches.grow(throughput * passed)
                if until == change:
                    self.batches.turn(batch, until)
                    self.changed()
        _ = self.operation

    def restart(self, wrap_in: float | None = None) -> None:
        """Restart: counters from zero, static settings take effect.

        wrap_in: seconds after which the counters of int columns reach 2^31; by default they begin at zero.
        """
        self.options.restart()
        self.caches.restart()
        self.caches.default_partitions = self.options.run("global cache partition number")
        startup, limit = (
            self.options.run(name) for name in ("number of engines at startup", "max online engines")
        )
        self.online = list(range(min(startup, limit)))
        self.counters = Counters()
        self.journal = Journal()
        self.sessions.drop()
        self.batches.restart(self.seconds)
        self.started = self.cleared = self.seconds
        self.at_clear = {}
        self.changed()
        self.log.start(self.seconds, self.name, len(self.online))
        if wrap_in is not None:
            self.counters.start_near_wrap(self.operation, wrap_in)
            self.journal = Journal()
            self.changed()

    def date(self, seconds: float) -> datetime:
        return self.clock.date(seconds)

    def int32(self, value: float) -> int:
        """A counter as an int column shows it: after 2^31 - 1 it continues at 0 (as the manual says), or negative."""
        whole = int(value)
        return (whole + 2**31) % 2**32 - 2**31 if self.negative_wrap else whole % 2**31

    def events(self, flow: str, limit: int) -> Iterator[tuple[int, float]]:
        """Number and second of the latest events of a flow, oldest first."""
        return self.journal.latest(flow, self.counters.flows[flow], min(limit, _MAX_EVENTS))

    def count(self, flow: str) -> int:
        """The counter of a flow, in an int column."""
        return self.int32(self.counters.flows.get(flow, 0.0))
