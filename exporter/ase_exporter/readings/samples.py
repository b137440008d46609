"""Samples: the last two readings of every metric of a target, and the rates between them. Pure, no I/O."""

from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ase_exporter.changes.change import Change, from_differences
from ase_exporter.changes.snapshot import ConfigSnapshot, Parts, compare, decode, merge
from ase_exporter.diagnosis.diagnose import BLOCKED, TOO_FEW
from ase_exporter.diagnosis.measures import Rows, SeriesRows
from ase_exporter.diagnosis.provenance import collector_of, why
from ase_exporter.metrics.families import Family
from ase_exporter.sessions.session import Snapshot

LabelValues = tuple[str, ...]
# Among what is missing of a sample: who ran what.
SESSION_ROWS = "session rows"

# Changes of one target that are kept.
MAX_CHANGES = 200
# Seconds over which rates of a screen are taken. The server counts the CPU time of engines and the time of waits in
# whole seconds: over two seconds, an engine would seem to be 0, 50 or 100 % busy. What is divided by them needs the
# same window.
WINDOW = 15.0
# Below this, such a rate is noise and is left out. A scrape may come a little early.
MIN_WINDOW = 3.9


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric as it was read once. at: seconds, monotonic. values: by label values, in the order of `labels`."""

    at: float
    labels: tuple[str, ...]
    values: Mapping[LabelValues, float]


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """All series of one metric. readings: the oldest first, one at least; none from before a gap."""

    readings: tuple[Reading, ...]

    @property
    def last(self) -> Reading:
        return self.readings[-1]

    @property
    def before(self) -> Reading | None:
        """The reading before the last; None if there is only one."""
        return self.readings[-2] if len(self.readings) > 1 else None

    @property
    def window(self) -> float:
        """Seconds between the oldest reading and the last; 0 if there is only one."""
        return self.last.at - self.readings[0].at

    def values(self, *, lasting: bool = False) -> SeriesRows:
        """The last value of each series. lasting: the smallest of all readings, of two at least."""
        last = self.last.values
        numbers = list(last.values())
        if lasting:
            earlier = self.readings[:-1]
            numbers = [
                min([value, *(each.values.get(values, 0.0) for each in earlier)]) if earlier else 0.0
                for values, value in last.items()
            ]
        return SeriesRows(self.last.labels, list(last), numbers)

    def rates(self) -> SeriesRows:
        """The growth per second of each series since the oldest reading."""
        if (seconds := self.window) <= 0:
            return SeriesRows(self.last.labels, [], [])
        earlier = self.readings[0].values
        grown = {
            values: value - earlier[values] for values, value in self.last.values.items() if values in earlier
        }
        numbers = [growth / seconds if growth > 0 else 0.0 for growth in grown.values()]
        return SeriesRows(self.last.labels, list(grown), numbers)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is known of a target after one scrape.

    at: Unix time; monotonic: seconds. error: one line, '' if the target was read; kind: the same as one word, as in
    ase_exporter_target_error. series: by metric. missing: collectors that this server does not give, with the reason.
    off: collectors that are not read. stretched: collectors that are read less often to keep the budget, with how many
    times their interval. interval: seconds between two samples, as asked for; statement_share: of it, with a statement
    under way. changes: seen since the first sample, the oldest first. facts: `catalogue.ServerFacts` of the server,
    None before the first login. note: about the recording, '' if all is well. sessions: None if they were not read.
    """

    target: str
    at: float
    monotonic: float
    interval: float
    error: str = ""
    kind: str = ""
    version: str = ""
    series: Mapping[str, MetricSeries] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    stretched: Mapping[str, float] = field(default_factory=dict)
    budget: float | None = None
    statement_share: float | None = None
    changes: tuple[Change, ...] = ()
    note: str = ""
    facts: Any = None
    sessions: Snapshot | None = None
    in_steps: bool = True

    def values(self, metric: str, *, lasting: bool = False) -> Rows:
        """The last value of each series of a metric; empty without the metric.

        lasting: the smallest one of the window, 0 for a series that a reading in it lacks.
        """
        if metric == BLOCKED and self.sessions:
            # What the collector `blocking` would have read.
            return [
                ({"spid": str(each.spid), "blocked_by": str(each.blocked_by)}, each.seconds or 0.0)
                for each in self.sessions.sessions
                if each.blocked_by
            ]
        found = self.series.get(metric)
        return found.values(lasting=lasting) if found else []

    def window(self, metric: str) -> float:
        """Seconds of a metric's windowed rates; 0 while they are fewer than MIN_WINDOW."""
        found = self.series.get(metric)
        return found.window if found and found.window >= MIN_WINDOW else 0.0

    def rates(self, metric: str) -> Rows:
        """The growth per second of each series of a counter, as `MetricSeries.rates`; empty without two readings."""
        found = self.series.get(metric)
        return found.rates() if found else []

    @property
    def source(self) -> str:
        """Over which window the rates are."""
        seconds = self.window("ase_engine_cpu_seconds_total")
        return f"the last {seconds:.0f} s" if seconds else "one reading alone"

    def unknown(self, metric: str, *, is_rate: bool) -> str:
        """Why the metric, or its rate, is not known; '' if it is."""
        if self.error:
            return self.error
        if metric == BLOCKED and (self.sessions or metric not in self.series):
            return "" if self.sessions else self.missing.get(SESSION_ROWS, TOO_FEW)
        collector = collector_of(metric)
        if collector in self.off:
            return f"collector {collector} is off"
        if reason := self.missing.get(collector):
            return why(metric, reason, self.facts.options if self.facts else {})
        found = self.series.get(metric)
        if found is None:
            read = any(collector_of(other) == collector for other in self.series)
            return "this version of ASE lacks it" if read else TOO_FEW
        return TOO_FEW if is_rate and not self.window(metric) else ""


class Tracker:
    """Keeps the readings of every metric over a window, of which rates are calculated.

    A collector that was not due is exposed again with the objects of its last reading, and one that the budget holds
    back without its counters: both keep the readings they have. One that failed loses them, so that old numbers do
    not look like new ones.

    window: the oldest reading is at least so many seconds old, as soon as there is one. spacing: seconds between two
    readings that are kept; the last two are kept whatever lies between them. metrics: only these, None for all.
    """

    def __init__(
        self, window: float = WINDOW, spacing: float = 0.0, metrics: Container[str] | None = None
    ) -> None:
        self._window, self._spacing, self._metrics_kept = window, spacing, metrics
        self._readings: dict[str, deque[Reading]] = {}
        self._families: dict[str, Family] = {}
        self._metrics: dict[str, set[str]] = {}

    def note(self, at: float, collected: Mapping[str, Iterable[Family]], failed: Container[str] = ()) -> None:
        """Take what a scrape that began at `at` (monotonic) collected. failed: collectors without an answer.

        Each table has its own time of reading, so that no rate is too high because the table was read late.
        """
        for collector in [name for name in self._metrics if name in failed or name not in collected]:
            for metric in self._metrics.pop(collector):
                del self._readings[metric], self._families[metric]
        for collector, families in collected.items():
            if collector not in failed:
                for family in families:
                    if self._metrics_kept is None or family.name in self._metrics_kept:
                        self._metrics.setdefault(collector, set()).add(family.name)
                        self._note_family(at, family)

    def _note_family(self, at: float, family: Family) -> None:
        if self._families.get(family.name) is family:
            return
        self._families[family.name] = family
        at = at if family.read_at is None else family.read_at
        values = {tuple(values): float(value) for values, value in family.samples}
        readings = self._readings.setdefault(family.name, deque())
        if len(readings) > 2 and readings[-2].at - readings[-3].at < self._spacing:
            del readings[-2]
        readings.append(Reading(at, family.labels, values))
        while len(readings) > 2 and readings[1].at <= at - self._window:
            readings.popleft()

    def forget(self) -> None:
        """Forget what was read before a gap: a rate over it would mix the time before with the time after."""
        self._readings.clear()
        self._families.clear()
        self._metrics.clear()

    def series(self) -> dict[str, MetricSeries]:
        return {name: MetricSeries(tuple(readings)) for name, readings in self._readings.items()}


class ChangeLog:
    """Compares the snapshots of one target as they come, in memory alone. changes: the oldest first."""

    def __init__(self, target: str) -> None:
        self.changes: tuple[Change, ...] = ()
        self._target = target
        self._parts: Parts = {}
        self._seen_at = 0.0

    def note(self, snapshot: ConfigSnapshot) -> None:
        """Compare a snapshot with the one before; the first one is the baseline."""
        not_before, self._seen_at = self._seen_at, snapshot.at
        old, new = self._parts, decode(snapshot.encoded_parts)
        self._parts = merge(old, new)
        if old:
            found = from_differences(self._target, compare(old, new), snapshot, not_before)
            self.changes = (*self.changes, *found)[-MAX_CHANGES:]
