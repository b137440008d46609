"""PromQL queries of panels, and the label matchers of the chosen servers and machines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from ase_exporter.compare.measures import measures
from ase_exporter.diagnosis.catalogue import MeasureDefinition, Selection, catalogue
from ase_exporter.diagnosis.promql import rows_query

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

DIAGNOSED, COMPARED = catalogue().measures, measures()
# Units of measures, and recorded series that are read in place of many.
UNITS = {"ratio": "percentunit", "seconds": "s", "per_second": "count:/s"}
RECORDED = {
    "ase_engine_cpu_seconds_total": "ase:engine_cpu:rate1m",
    "ase_thread_cpu_seconds_total": "ase:thread_pool_cpu:rate1m",
    "ase_spinlock_spins_total": "ase:spinlock_spins:rate1m",
    "ase_transactions_total": "ase:transactions:rate1m",
}
# Replace `$selector` and `$machine` in every expression: the chosen servers, and the chosen machines.
SELECTOR = 'job=~"$job",instance=~"$instance"'
MACHINE = 'job=~"$host_job",instance=~"$host"'


def with_selectors(expr: str) -> str:
    """Replace `$selector` and `$machine` by label matchers."""
    return expr.replace("$selector", SELECTOR).replace("$machine", MACHINE)


def rate(metric: str, matchers: str = "") -> str:
    """Return the rate of a counter of the chosen servers. matchers: further label matchers, as `,use="log"`."""
    return f"rate({metric}{{$selector{matchers}}}[$__rate_interval])"


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression and the legend of its series.

    instant: current value instead of a range; format: Grafana's result format (time_series, table, heatmap); unit: of
    Grafana, if the name of the metric does not say it.
    """

    expr: str
    legend: str = "{{instance}}"
    unit: str = ""
    instant: bool = False
    format: str = "time_series"

    def json(self, number: int) -> Json:
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "exemplar": False,
            "expr": with_selectors(self.expr),
            "format": self.format,
            "instant": self.instant,
            "legendFormat": self.legend,
            "range": not self.instant,
            "refId": ascii_uppercase[number],
        }


def rows(expr: str) -> Query:
    """Return a query for a table: current values, one row per series."""
    return Query(expr, "", instant=True, format="table")


def figure(measure: MeasureDefinition, legend: str = "{{instance}}", kept: str = "") -> Query:
    """Return a query for a measure of each server, by the measure's labels. kept: for example topk(10."""
    each = replace(measure, by=("job", "instance", *measure.by))
    expr = rows_query(each, "$selector", _now)
    return Query(f"{kept}, {expr})" if kept else expr, legend, UNITS.get(measure.unit, "short"))


def _now(selection: Selection, matchers: str) -> str:
    """The rate of a counter, recorded if it is, or the value of a gauge."""
    if series := RECORDED.get(selection.metric):
        return f"{series}{{{matchers}}}"
    series = f"{selection.metric}{{{matchers}}}"
    return f"rate({series}[$__rate_interval])" if selection.rate else series


def now(expr: str, legend: str = "") -> Query:
    """Return a query for a Stat: current values."""
    return Query(expr, legend, instant=True)


def per(counter: str, uses: str, legend: str = "{{instance}}", top: int = 0) -> Query:
    """Return a query for what a counter grows by for each use. top: show the highest."""
    ratio = f"{rate(counter)} / ({rate(uses)} > 0)"
    return Query(f"topk({top}, {ratio})" if top else ratio, legend)


Queries = Query | Sequence[Query]


def several(queries: Queries) -> Sequence[Query]:
    return [queries] if isinstance(queries, Query) else queries
