"""PromQL queries of panels, and the label matchers of the chosen servers and machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

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

    instant: current value instead of a range; format: Grafana's result format (time_series, table, heatmap).
    """

    expr: str
    legend: str = "{{instance}}"
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
            "refId": chr(ord("A") + number),
        }


def rows(expr: str) -> Query:
    """Return a query for a table: current values, one row per series."""
    return Query(expr, "", instant=True, format="table")


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
