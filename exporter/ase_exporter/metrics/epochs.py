"""Epochs: since when the counters of a server, or of each instance of a cluster, have been counting.

A server is its name and its node, not an address: behind one address, a failover may bring another server with other
counters. A later start is taken for a restart only if it is provably later than the last good reading, by the server's
own clock; `counters` then asks whether the values agree. Everything else that moves the start makes the counters
re-base: they go on from the new values, and what happened between the two readings is not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]
# InstanceID on Cluster Edition, None elsewhere.
Instance = str | int | float | None
Change = Literal["", "clear", "rebase", "restart"]
Notice = Literal["restart", "start_moved", "other_server"]

# Seconds. The clocks of a cluster's nodes differ by no more.
MAX_SKEW = 5.0
# Seconds by which server and exporter may disagree about the time between two readings. If they disagree by more, the
# server's clock was set, or it is another server's clock: dates then prove nothing.
MAX_CLOCK_DRIFT = 90.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers at an address. node: of the installation (@@nodeid). An empty field is not known."""

    name: str = ""
    node: str = ""

    def differs(self, other: "Identity") -> bool:
        """Whether the two are certainly not the same server."""
        pairs = (self.name, other.name), (self.node, other.node)
        return any(one and two and one != two for one, two in pairs)

    def completed(self, known: "Identity") -> "Identity":
        """This identity, with what was known before in place of what is not known now."""
        return Identity(self.name or known.name, self.node or known.node)


class EpochReading(NamedTuple):
    """What monState says of one instance, in seconds of the server's local clock. cleared: None if not known."""

    started: float
    cleared: float | None
    server_time: float


class Mark(NamedTuple):
    """How often an instance has restarted, been re-based and been cleared."""

    restarts: Count = 0
    rebases: Count = 0
    clears: Count = 0


class KnownEpoch(NamedTuple):
    """An instance at its last reading, and the monotonic time of that."""

    reading: EpochReading
    read_at: float
    mark: Mark


class Epochs(msgspec.Struct, forbid_unknown_fields=True):
    """The epochs of all instances of one server, as `saved_totals` keeps them.

    version: changes with any mark. rebases: counts for instances that are not known, too.
    """

    identity: Identity = Identity()
    version: int = 0
    instances: dict[Instance, KnownEpoch] = {}
    rebases: Count = 0

    def identify(self, identity: Identity) -> Notice | None:
        """Note who answers after a login; returns `other_server` if it is another one than before."""
        another = self.identity.differs(identity)
        self.identity = identity if another else identity.completed(self.identity)
        if not another:
            return None
        self._rebase_all()
        return "other_server"

    def lose(self) -> Notice | None:
        """Note that a new connection cannot tell the start: any server may answer."""
        if not self.instances:
            return None
        self._rebase_all()
        return "start_moved"

    def observe(self, readings: Mapping[Instance, EpochReading], now: float) -> dict[Instance, Notice]:
        """Note the starts of the instances that are there. now: monotonic. Others keep what is known of them."""
        notices: dict[Instance, Notice] = {}
        last = max(self.instances.values(), key=lambda epoch: epoch.read_at, default=None)
        for instance, reading in readings.items():
            known = self.instances.get(instance)
            if known and reading.cleared is None and reading.started == known.reading.started:
                # A reading that does not tell is no clear: what was known before holds until another date is read.
                reading = reading._replace(cleared=known.reading.cleared)
            if known is None:
                # Its rows count from zero only if it has just started.
                joined = Mark(restarts=1) if last and _is_later(last, reading, now) else Mark(rebases=1)
                mark = joined if last else Mark()
            else:
                mark, notice = _next_mark(known, reading, now)
                if notice:
                    notices[instance] = notice
            if known is None or mark != known.mark:
                self.version += 1
            self.instances[instance] = KnownEpoch(reading, now, mark)
        return notices

    def mark(self, instance: Instance) -> Mark:
        """The mark of an instance, which a table keeps to see later what has changed."""
        known = self.instances.get(instance)
        mark = known.mark if known else Mark()
        return mark._replace(rebases=mark.rebases + self.rebases)

    def age(self, instance: Instance) -> float:
        """Seconds from the start of an instance to its last reading, by its own clock; 0 if not known."""
        known = self.instances.get(instance)
        return known.reading.server_time - known.reading.started if known else 0.0

    def joint_mark(self) -> Mark:
        """A mark for rows that belong to all instances: the restart of one explains falls, but implies none."""
        marks = [epoch.mark for epoch in self.instances.values()]
        clears = sum(mark.clears + mark.restarts for mark in marks)
        return Mark(0, self.rebases + sum(mark.rebases for mark in marks), clears)

    @property
    def single(self) -> bool:
        """Whether the server is no cluster, as far as is known."""
        return self.instances.keys() <= {None}

    def _rebase_all(self) -> None:
        self.rebases += 1
        self.version += 1
        # What is known of the starts is another server's.
        self.instances = {
            instance: epoch._replace(reading=EpochReading(float("nan"), None, float("nan")))
            for instance, epoch in self.instances.items()
        }


def change(old: Mark, new: Mark) -> Change:
    """What has happened between two marks: of several events the one that invalidates most."""
    if new.rebases != old.rebases:
        return "rebase"
    if new.restarts != old.restarts:
        return "restart"
    return "clear" if new.clears != old.clears else ""


def _next_mark(known: KnownEpoch, reading: EpochReading, now: float) -> tuple[Mark, Notice | None]:
    """The mark after another reading of an instance, and what was noticed."""
    last, mark = known.reading, known.mark
    if last.started != last.started:
        # NaN: re-based already, when the server turned out to be another one.
        return mark, None
    if reading.started == last.started:
        cleared = last.cleared is not None and reading.cleared != last.cleared
        return (mark._replace(clears=mark.clears + 1) if cleared else mark), None
    if _is_later(known, reading, now):
        return mark._replace(restarts=mark.restarts + 1), "restart"
    return mark._replace(rebases=mark.rebases + 1), "start_moved"


def _is_later(last: KnownEpoch, reading: EpochReading, now: float) -> bool:
    """Whether an instance has provably started after that reading."""
    drift = (reading.server_time - last.reading.server_time) - (now - last.read_at)
    return (
        last.reading.server_time <= reading.started <= reading.server_time + MAX_SKEW
        and abs(drift) <= MAX_CLOCK_DRIFT
    )
