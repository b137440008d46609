"""What reading a target costs it, and the budget that keeps this small by reading dear collectors less often."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from ase_exporter.families import Family, single

SESSION_CPU = "ase_exporter_session_cpu_seconds_total"
# How far a new measurement moves what is expected of the next one.
NEW_SHARE = 0.25
# No collector is stretched beyond this, in seconds, budget or not: counters would wrap unseen.
MOST_INTERVAL = 300.0
# The budget is said to be kept again, in the log, once this share of it would do: not at every turn.
CALM = 0.8


@dataclass(slots=True)
class Cost:
    """What reading one target has cost since the exporter was started. seconds: time in statements."""

    scrapes: int = 0
    connects: int = 0
    statements: int = 0
    rows: int = 0
    seconds: float = 0.0
    received: int = 0

    def families(self) -> list[Family]:
        """All of it as counters; CPU and reads in the server are the collector `own_session`'s."""
        counted = (
            ("scrapes", "Scrapes of this target.", self.scrapes),
            ("connects", "Logins tried to this target.", self.connects),
            ("statements", "Statements sent to this target.", self.statements),
            (
                "statement_seconds",
                "Time that statements to this target took, answers included.",
                self.seconds,
            ),
            ("rows", "Rows read from this target.", self.rows),
            ("received_bytes", "Bytes that this target sent, by its connections' TCP.", self.received),
        )
        return [
            single(f"ase_exporter_{name}_total", "counter", text, float(value))
            for name, text, value in counted
        ]


@dataclass(slots=True)
class _Dear:
    """One collector: when it was last asked for, its own interval, seconds between those who ask, seconds
    that a reading takes, and the interval that keeps the budget (0: its own)."""

    asked: float
    own: float
    vital: bool
    gap: float = 0.0
    seconds: float | None = None
    interval: float = 0.0

    def period(self, now: float) -> float:
        """Seconds between readings as they would be without a budget, 0 if that is not known yet.

        It grows when nobody asks any more.
        """
        return max(self.own, self.gap, now - self.asked) if self.gap else self.own


@dataclass(slots=True)
class Budget:
    """The share of one engine's time that reading a target may take; None: no bound. Times are in seconds.

    A collector costs what its statements take, scaled to the CPU time of our session where that is known:
    on the way to a far server the time passes, but costs nothing. While all together would take more than
    the share, the dearest are read less often, so that they all cost the same, and the others as ever.
    Collectors are told apart by any key.
    """

    share: float | None
    demand: float = 0.0
    _collectors: dict[Hashable, _Dear] = field(default_factory=dict)
    _loud: bool = False
    _cpu: float | None = None
    _seconds: float = 0.0
    _used: tuple[float, float] = (0.0, 0.0)

    def asked(self, key: Hashable, now: float, own: float, *, vital: bool = False) -> float:
        """A scrape wants the collector, which is to be read every `own` seconds: the interval that holds.

        vital: it is never read less often.
        """
        if self.share is None:
            return own
        collector = self._collectors.setdefault(key, _Dear(now, own, vital))
        if collector.asked < now:
            collector.gap = _moved(collector.gap or None, now - collector.asked)
            collector.asked = now
        return max(own, collector.interval)

    def took(self, key: Hashable, seconds: float) -> None:
        """One reading of the collector, failed or not."""
        if self.share is not None:
            collector = self._collectors[key]
            collector.seconds = _moved(collector.seconds, seconds)

    def settle(self, now: float, seconds: float, cpu: float | None) -> str:
        """After a scrape: set the intervals. A line for the log when it begins or ends to bind, else ''.

        seconds: in statements, in all; cpu: of our session, in all, None where unknown in this scrape.
        """
        if self.share is None:
            return ""
        if cpu is not None:
            self._weigh(seconds, cpu)
        loads = {
            key: self._seconds_of(collector) / period
            for key, collector in self._collectors.items()
            if collector.seconds is not None and (period := collector.period(now)) > 0
        }
        self.demand = math.fsum(loads.values())
        free = {key: load for key, load in loads.items() if not self._collectors[key].vital}
        level = _level(free.values(), self.share - (self.demand - math.fsum(free.values())))
        for key, load in free.items():
            collector = self._collectors[key]
            wanted = self._seconds_of(collector) / level if level > 0 else MOST_INTERVAL
            collector.interval = min(wanted, MOST_INTERVAL) if load > level else 0.0
        return self._news()

    def stretch(self, key: Hashable, now: float) -> float:
        """How many times as long as without a budget the collector's interval is."""
        collector = self._collectors.get(key)
        if collector is None or not collector.interval:
            return 1.0
        return max(1.0, collector.interval / collector.period(now))

    def families(self, stretched: Iterable[tuple[str, float]]) -> list[Family]:
        """The budget and how it is kept. stretched: collectors and how many times as long their intervals."""
        if self.share is None:
            return []
        families = [
            single(
                "ase_exporter_budget_ratio",
                "gauge",
                "Share of one engine's time that reading this target may take, as configured.",
                self.share,
            ),
            single(
                "ase_exporter_budget_demand_ratio",
                "gauge",
                "Share of one engine's time that it would take to read all collectors at their own intervals.",
                self.demand,
            ),
            Family(
                "ase_exporter_collector_stretch",
                "gauge",
                "How many times its own interval the collector is read in, to keep the budget, where it is.",
                ("collector",),
                [((name,), times) for name, times in stretched if times > 1],
            ),
        ]
        return [family for family in families if family.samples]

    def _seconds_of(self, collector: _Dear) -> float:
        cpu, seconds = self._used
        known = self._cpu is not None and seconds > 0
        return (collector.seconds or 0.0) * (min(1.0, cpu / seconds) if known else 1.0)

    def _weigh(self, seconds: float, cpu: float) -> None:
        """How much of the time in statements is CPU time, the last scrapes counting most."""
        if self._cpu is not None:
            grown = (max(0.0, cpu - self._cpu), seconds - self._seconds)
            self._used = (
                self._used[0] * (1 - NEW_SHARE) + grown[0],
                self._used[1] * (1 - NEW_SHARE) + grown[1],
            )
        self._cpu, self._seconds = cpu, seconds

    def _news(self) -> str:
        share = self.share or 0.0
        if not self._loud and self.demand > share:
            self._loud = True
            return (
                f"reading all would take {self.demand:.2%} of an engine, the budget is {share:.2%}: "
                "dear collectors are read less often"
            )
        if self._loud and self.demand < share * CALM:
            self._loud = False
            return f"the budget of {share:.2%} of an engine is kept again without reading less often"
        return ""


def session_cpu(families: Iterable[Family]) -> float | None:
    """Seconds of CPU time that our session has used, out of what `own_session` read."""
    values = [value for family in families if family.name == SESSION_CPU for _, value in family.samples]
    return math.fsum(values) if values else None


def _moved(known: float | None, new: float) -> float:
    return new if known is None else known + (new - known) * NEW_SHARE


def _level(loads: Iterable[float], limit: float) -> float:
    """The largest level at which all loads, each capped at it, sum to at most the limit."""
    ordered, left = sorted(loads), max(0.0, limit)
    for index, load in enumerate(ordered):
        even = left / (len(ordered) - index)
        if load > even:
            return even
        left -= load
    return math.inf
