"""PromQL for panels: which servers a selector takes, and a query with the legend of its series."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

# What `$selector` and `$machine` stand for in every expression: the servers, and the machines, that were chosen.
SELECTOR = 'job=~"$job",instance=~"$instance"'
MACHINE = 'job=~"$host_job",instance=~"$host"'


def filled(expr: str) -> str:
    """The expression with the label matchers in place of `$selector` and `$machine`."""
    return expr.replace("$selector", SELECTOR).replace("$machine", MACHINE)


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression and the legend of its series.

    instant: the value now instead of a graph; format: how Grafana reads the answer (time_series, table, heatmap).
    """

    expr: str
    legend: str = ""
    instant: bool = False
    format: str = "time_series"

    def json(self, number: int) -> Json:
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "exemplar": False,
            "expr": filled(self.expr),
            "format": self.format,
            "instant": self.instant,
            "legendFormat": self.legend,
            "range": not self.instant,
            "refId": chr(ord("A") + number),
        }


def rows(expr: str) -> Query:
    """A query for a table: the values now, a row for each series."""
    return Query(expr, instant=True, format="table")


def now(expr: str, legend: str = "") -> Query:
    """A query for figures: the values now."""
    return Query(expr, legend, instant=True)
