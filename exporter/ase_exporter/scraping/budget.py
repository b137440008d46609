"""The budget of a target: limits the cost of reading it by reading expensive collectors less often."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.series_limits import fill_level
from ase_exporter.views.figures import shown

SESSION_CPU = "ase_exporter_session_cpu_seconds_total"
# The weight of a new measurement in moving averages.
NEW_WEIGHT = 0.25
# No interval is stretched beyond this many seconds, whatever the budget: counters could wrap twice unnoticed.
MAX_INTERVAL = 300.0
# Seconds between two scrapes that read collectors one by one to measure them, while all together exceed the budget.
MEASURE_INTERVAL = 300.0
# The log says that the budget is kept again below this share of it, so that it does not alternate.
RECOVERED_SHARE = 0.8


@dataclass(slots=True)
class _CollectorCost:
    """What one collector costs. Seconds.

    requested_at: the last scrape that wanted it. own_interval: as configured. scrape_interval: between scrapes
    that want it. duration: of one reading, measured: on its own. interval: that keeps the budget; 0 for its own.
    """

    requested_at: float
    own_interval: float
    vital: bool
    scrape_interval: float = 0.0
    duration: float | None = None
    measured: bool = False
    interval: float = 0.0

    def natural_interval(self, now: float) -> float:
        """The interval without a budget; 0 if not known yet. It grows while no scrape wants the collector."""
        if not self.scrape_interval:
            return self.own_interval
        return max(self.own_interval, self.scrape_interval, now - self.requested_at)


@dataclass(slots=True)
class Budget:
    """The share of one engine's time that reading a target may take; None for no limit. Times are in seconds.

    The cost of a collector is the time of its statements, scaled to the CPU time of the exporter's session if
    that is known: waiting for a distant server costs that server nothing. If all collectors together exceed the
    share, the most expensive ones are read less often, such that they all cost the same.

    In a batch, the server sends results when its buffer is full, so the time of a slow collector appears as that of
    one before it. Once a batch exceeds the share, collectors have to be read one by one in a scrape.

    demand: share that reading every collector at its own interval would take. must_measure: the next scrape must not
    use a batch. Collectors have any hashable key.
    """

    share: float | None
    demand: float = 0.0
    must_measure: bool = False
    _collectors: dict[Hashable, _CollectorCost] = field(default_factory=dict)
    _exceeded: bool = False
    # Session CPU and statement time at the last scrape, and the moving averages of their growth per scrape.
    _last_cpu: float | None = None
    _last_seconds: float = 0.0
    # When and with how much statement time the last scrape ended, and when collectors were last measured.
    _last_update: tuple[float, float] | None = None
    _measured_at: float = -math.inf
    _mean_growth: tuple[float, float] = (0.0, 0.0)

    def request(self, key: Hashable, now: float, own_interval: float, *, vital: bool = False) -> float:
        """Note that a scrape wants a collector; returns its interval now. vital: never read less often."""
        if self.share is None:
            return own_interval
        cost = self._collectors.setdefault(key, _CollectorCost(now, own_interval, vital))
        if cost.requested_at < now:
            cost.scrape_interval = _average(cost.scrape_interval or None, now - cost.requested_at)
            cost.requested_at = now
        return max(own_interval, cost.interval)

    def record(self, key: Hashable, seconds: float, *, batched: bool = False) -> None:
        """Note how long one reading of a collector took, failed or not. batched: as a part of a batch."""
        if self.share is None:
            return
        cost = self._collectors[key]
        if batched and cost.measured:
            return
        afresh = not batched and (self.must_measure or not cost.measured)
        cost.duration = seconds if afresh else _average(cost.duration, seconds)
        cost.measured = not batched

    def update(self, now: float, seconds: float, cpu: float | None) -> str:
        """Set the intervals after a scrape; returns a log message when the budget begins or ends to bind.

        seconds: total time in statements. cpu: total CPU time of the session, None if this scrape did not read it.
        """
        if self.share is None:
            return ""
        if cpu is not None:
            self._update_cpu_share(seconds, cpu)
        self._check_total(now, seconds)
        loads = {
            key: self._cpu_seconds(cost) / interval
            for key, cost in self._collectors.items()
            if cost.duration is not None and (interval := cost.natural_interval(now)) > 0
        }
        self.demand = math.fsum(loads.values())
        adjustable = {key: load for key, load in loads.items() if not self._collectors[key].vital}
        vital_load = self.demand - math.fsum(adjustable.values())
        level = fill_level(adjustable.values(), self.share - vital_load)
        for key, load in adjustable.items():
            cost = self._collectors[key]
            wanted = self._cpu_seconds(cost) / level if level > 0 else MAX_INTERVAL
            # What a batch says of a single collector is not enough to read it less often.
            known = cost.measured or not self.must_measure
            cost.interval = min(wanted, MAX_INTERVAL) if load > level and known else 0.0
        return self._message()

    def stretch(self, key: Hashable, now: float) -> float:
        """The collector's interval as a multiple of the one without a budget."""
        cost = self._collectors.get(key)
        if cost is None or not cost.interval:
            return 1.0
        return max(1.0, cost.interval / cost.natural_interval(now))

    def families(self, stretches: Iterable[tuple[str, float]]) -> list[Family]:
        """The budget as metrics. stretches: collector and `stretch` of each."""
        if self.share is None:
            return []
        stretched = [((name,), stretch) for name, stretch in stretches if stretch > 1]
        families = [
            OWN.value("ase_exporter_budget_ratio", self.share),
            OWN.value("ase_exporter_budget_demand_ratio", self.demand),
            OWN.family("ase_exporter_collector_stretch", stretched),
        ]
        return [family for family in families if family.samples]

    def _check_total(self, now: float, seconds: float) -> None:
        """Have the collectors measured if a scrape exceeded the share."""
        if self.must_measure:
            self.must_measure, self._measured_at = False, now
        elif self._last_update is not None and now - self._measured_at >= MEASURE_INTERVAL:
            at, total = self._last_update
            load = (seconds - total) * self._cpu_share() / max(now - at, 0.001)
            self.must_measure = load > (self.share or 0.0)
        self._last_update = now, seconds

    def _cpu_seconds(self, cost: _CollectorCost) -> float:
        return (cost.duration or 0.0) * self._cpu_share()

    def _cpu_share(self) -> float:
        """The part of the statement time that is CPU time; 1 if it is not known."""
        cpu, seconds = self._mean_growth
        known = self._last_cpu is not None and seconds > 0
        return min(1.0, cpu / seconds) if known else 1.0

    def _update_cpu_share(self, seconds: float, cpu: float) -> None:
        """Update the part of the statement time that is CPU time."""
        if self._last_cpu is not None:
            growth = (max(0.0, cpu - self._last_cpu), seconds - self._last_seconds)
            self._mean_growth = (
                self._mean_growth[0] * (1 - NEW_WEIGHT) + growth[0],
                self._mean_growth[1] * (1 - NEW_WEIGHT) + growth[1],
            )
        self._last_cpu, self._last_seconds = cpu, seconds

    def _message(self) -> str:
        share = self.share or 0.0
        budget = shown(share, "ratio", digits=4)
        if not self._exceeded and self.demand > share:
            self._exceeded = True
            demand = shown(self.demand, "ratio", digits=4)
            return (
                f"reading all collectors would take {demand} of an engine, the budget is {budget}: "
                "expensive collectors are read less often"
            )
        if self._exceeded and self.demand < share * RECOVERED_SHARE:
            self._exceeded = False
            return f"the budget of {budget} of an engine is kept again without reading less often"
        return ""


def session_cpu(families: Iterable[Family]) -> float | None:
    """Seconds of CPU time of the exporter's session, from the families of the collector `own_session`."""
    values = [value for family in families if family.name == SESSION_CPU for _, value in family.samples]
    return math.fsum(values) if values else None


def _average(known: float | None, new: float) -> float:
    return new if known is None else known + (new - known) * NEW_WEIGHT
