"""What Prometheus has of a server in any window, its diagnosis, and the evidence for advice."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ase_exporter.advise.evidence import Evidence, evidence_of
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.compare.comparison import INTERVALS_PER_SAMPLE
from ase_exporter.compare.coverage import read_coverage, read_covered
from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import (
    BLOCKED,
    NO_BASELINE,
    NOT_KNOWN,
    STARTING,
    TOO_FEW,
    Diagnosis,
    Level,
    baseline_of,
    diagnose,
    level_of,
)
from ase_exporter.diagnosis.measures import Rows
from ase_exporter.diagnosis.provenance import collector_of, why
from ase_exporter.errors import UserError

# Seconds. The usual is what the server did for at least so long before the window, and at most a day.
MIN_USUAL, MAX_USUAL = 1800.0, 86400.0
MIN_SCRAPES = 4
# Metric -> what advice lacks without it, beside what it lacks wherever the evidence comes from.
_NEEDED = {
    "ase_info": "version: features that later versions have are not named",
    "ase_cache_pool_size_bytes": "page size: taken for 16 KB, the most cautious",
}
# The sizes of ASE's pages.
_PAGE_BYTES = ("2048", "4096", "8192", "16384")


@dataclass(frozen=True)
class PrometheusReadings:
    """What Prometheus has of a server over a window; as `diagnosis.Readings`.

    covered: the part of the window in which it was scraped without a gap, None if there is none that is long enough.
    """

    prometheus: Prometheus
    selector: str
    covered: Span | None

    @property
    def source(self) -> str:
        """The covered window."""
        if self.covered is None:
            return "no part of the window was scraped without a gap"
        return f"Prometheus, {self.covered.seconds:.0f} s until {self.covered.end:.0f}"

    @property
    def at(self) -> float:
        """The end of the covered window."""
        return self.covered.end if self.covered else 0.0

    @cached_property
    def _gauges(self) -> Mapping[str, Rows]:
        """The last value of each gauge, of the collectors and of the options."""
        names = "|".join(sorted(GAUGES))
        query = f'last_over_time({{__name__=~"{names}", {self.selector}}}{self._range})'
        return self._by_metric(query, "__name__")

    @cached_property
    def _over_window(self) -> Mapping[str, Rows]:
        """The rates of all counters and the means of the counts of tasks, by one query.

        The functions drop the metric's name, so a label keeps it.
        """
        functions = dict.fromkeys(COUNTERS, "rate") | dict.fromkeys(_MEANS, "avg_over_time")
        query = " or ".join(
            f'label_replace({function}({each}{{{self.selector}}}{self._range}), "{_NAME}", "{each}", "", "")'
            for each, function in sorted(functions.items())
        )
        return self._by_metric(query, _NAME)

    @property
    def _range(self) -> str:
        return f"[{math.ceil(self.covered.seconds)}s]" if self.covered else "[1s]"

    def values(self, metric: str, *, lasting: bool = False) -> Rows:
        """Counts of tasks as their mean over the window, other gauges as they were last."""
        if metric in _MEANS and metric in self._gauges:
            return self._over_window.get(metric, [])
        return self._gauges.get(metric, [])

    def rates(self, metric: str) -> Rows:
        """Growth per second over the covered window."""
        return self._over_window.get(metric, [])

    def window(self, metric: str) -> float:
        """The covered window."""
        return self.covered.seconds if self.covered else 0.0

    def unknown(self, metric: str, *, is_rate: bool) -> str:
        """Why Prometheus does not have the metric."""
        if self.covered is None:
            return TOO_FEW
        if self.rates(metric) if is_rate else self._gauges.get(metric):
            return ""
        options = {labels["name"]: value for labels, value in self._gauges.get("ase_config_value", [])}
        for labels, value in self._gauges.get("ase_exporter_collector_available", []):
            if labels.get("collector") == collector_of(metric):
                return "" if value else why(metric, labels.get("reason", ""), options)
        return f"collector {collector_of(metric)} is off"

    def _by_metric(self, query: str, name: str) -> Mapping[str, Rows]:
        """The answer at the end of the window, by metric. name: the label that has its name."""
        found: defaultdict[str, list[tuple[Labels, float]]] = defaultdict(list)
        for each in self.prometheus.query(query, self.covered.end) if self.covered else ():
            labels = {label: text for label, text in each.labels.items() if label != name}
            found[each.labels.get(name, "")].append((labels, each.value))
        return found


_SELECTIONS = [each for measure in catalogue().measures.values() for each in measure.selections]
# Counts of tasks: they differ from scrape to scrape.
_MEANS = frozenset(each.metric for each in _SELECTIONS if each.lasting) | {"ase_processes"}
COUNTERS = frozenset(each.rate for each in _SELECTIONS if each.rate) | {"ase_wait_seconds_total"}
# Those of measures, and what advice needs besides.
GAUGES = frozenset(each.value for each in _SELECTIONS if each.value) | {
    *(BLOCKED, "ase_exporter_collector_available", "ase_info", "ase_tempdb_sessions_assigned"),
    *("ase_cache_partitions", "ase_cache_size_bytes", "ase_cache_relaxed_replacement"),
    *("ase_cache_pool_size_bytes", "ase_cached_object_bytes"),
}
_NAME = "name_of_metric"


def covered_part(prometheus: Prometheus, selector: str, span: Span) -> Span | None:
    """The last stretch of a window in which the server was scraped without a gap; None if it is too short."""
    covered = read_coverage(prometheus, selector, span).stretch(last=True)
    if covered is None or covered.span.seconds < (MIN_SCRAPES - 1) * covered.interval:
        return None
    return covered.span


def diagnose_window(
    prometheus: Prometheus, selector: str, span: Span, *, usual: bool = True
) -> tuple[Diagnosis, Span | None]:
    """The diagnosis of a window, and the part of the window that it is of.

    usual: compare with the time before the window.
    """
    covered = covered_part(prometheus, selector, span)
    readings = PrometheusReadings(prometheus, selector, covered)
    return (diagnosed(readings, span) if usual else diagnose(readings)), covered


def diagnosed(readings: PrometheusReadings, span: Span) -> Diagnosis:
    """The diagnosis of readings of a window, compared with the time before the window."""
    if readings.covered is None:
        return diagnose(readings)
    length = min(MAX_USUAL, max(MIN_USUAL, span.seconds))
    earlier = Span("before", span.start - length, span.start)
    before = covered_part(readings.prometheus, readings.selector, earlier)
    return diagnose(
        readings, baseline_of(diagnose(replace(readings, covered=before))) if before else NO_BASELINE
    )


def evidence(prometheus: Prometheus, selector: str, span: Span) -> Evidence:
    """What `advise` needs, as rates over the longest part of a window without a gap, with the settings at its end.

    Less than a server itself says: owners of tables and CPU flags are not metrics. `missing` names what the
    exporter was not configured to read. Raises UserError without data.
    """
    covered = read_covered(prometheus, selector, span)
    if covered.span.seconds < INTERVALS_PER_SAMPLE * covered.interval:
        needed = f"at least {INTERVALS_PER_SAMPLE * covered.interval:.0f} s"
        raise UserError(f"window {span.name}: it has {covered.span.seconds:.0f} s; expected {needed}")
    readings = PrometheusReadings(prometheus, selector, covered.span)
    # Without a version, the oldest: then no feature is offered that the server may not have.
    versions = [labels["version"] for labels, _ in readings.values("ase_info") if labels.get("version")]
    buffers = {labels["io_size"] for labels, _ in readings.values("ase_cache_pool_size_bytes")}
    found = evidence_of(
        readings,
        diagnosed(readings, span),
        parse_version(versions[0] if versions else "12.5"),
        covered.span.seconds,
        # The smallest buffers of any pool are pages.
        page_size=int(next((size for size in _PAGE_BYTES if size in buffers), _PAGE_BYTES[-1])),
    )
    lacks = {name: why for name, why in _NEEDED.items() if not readings.values(name)}
    return replace(found, missing={**found.missing, **lacks})


@dataclass(frozen=True, slots=True)
class FoundInSpan:
    """What came first in a span of time, by the recorded findings. rank: their mean; below 0 a state without one."""

    start: float
    finding: str
    word: str
    rank: float

    @property
    def level(self) -> Level:
        """How bad it is; "none" where nothing was known."""
        return "none" if self.finding in (NOT_KNOWN, STARTING) else level_of(self.rank)


_FOUND = (
    "topk by (instance) (1, sum by (instance, finding, word) (sum_over_time(ase_diagnosis_rank{%s}[%s]))"
    " / on (instance) group_left () sum by (instance) (count_over_time(ase_diagnosis_first_info{%s}[%s])))"
)


def found_by_span(
    prometheus: Prometheus, selector: str, start: float, end: float, seconds: float
) -> dict[str, list[FoundInSpan]]:
    """What came first in each span of that length between two times, by server, in order of time.

    The last span ends with the second time, so that it may be shorter.
    """
    whole = math.floor((end - start) / seconds)
    last = start + whole * seconds
    found: defaultdict[str, list[FoundInSpan]] = defaultdict(list)
    if whole:
        for series in prometheus.over(_found(selector, seconds), start + seconds, last, seconds):
            for at, value in zip(series.times, series.values, strict=True):
                _add(found, series.labels, float(at) - seconds, float(value))
    if end - last >= 1:
        for sample in prometheus.query(_found(selector, end - last), end):
            _add(found, sample.labels, last, sample.value)
    return {name: sorted(each, key=lambda span: span.start) for name, each in found.items()}


def _found(selector: str, seconds: float) -> str:
    width = range_text(seconds)
    return _FOUND % (selector, width, selector, width)


def _add(found: defaultdict[str, list[FoundInSpan]], labels: Labels, start: float, rank: float) -> None:
    span = FoundInSpan(start, labels.get("finding", ""), labels.get("word", ""), rank)
    found[labels.get("instance", "")].append(span)
