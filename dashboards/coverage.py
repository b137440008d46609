"""Generates docs/coverage.md: the dashboards and rules that use each metric of the catalogue.

Which metrics matter most to them is a file of the exporter, by which it keeps its series limit.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from dashboards.queries import Json

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue

HERE = Path(__file__).parent
RULES = HERE.parent / "alerts" / "rules"
COVERAGE = HERE.parent / "docs" / "coverage.md"
IMPORTANCE = HERE.parent / "exporter" / "ase_exporter" / "metrics" / "importance.csv"

# A name, and which of the resources it is asked for that are recorded under one name.
METRIC = re.compile(r'\b((?:ase|dbhost)[_:][a-z0-9_:]+)(?:\{resource=~?"([^"]*)"\})?')
INTRODUCTION = """\
# Where each metric is used

Written by `make generate`. A dashboard that shows a recording rule shows the metrics from which the rule is computed.
`ase-details` has what no other dashboard shows, except facts that are only in labels, and times.

| Metric | Dashboards | Alerts |
| --- | --- | --- |
"""


def metrics() -> list[str]:
    """Return the names of all metrics of the catalogue, in its order."""
    catalogue, _ = load_catalogue()
    return list(dict.fromkeys(name for each in catalogue.collectors.values() for name in each.metrics))


def used_by_dashboards(dashboards: list[Json]) -> dict[str, list[str]]:
    """Return the dashboards' uids by metric, recording rules resolved."""
    used: dict[str, list[str]] = {}
    for dashboard in dashboards:
        texts = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        for name in names(texts):
            used.setdefault(name, []).append(dashboard["uid"])
    return used


def used_by_alerts() -> dict[str, list[str]]:
    """Return the alerts' names by metric, recording rules resolved."""
    used: dict[str, list[str]] = {}
    for rule in _rules():
        if "alert" in rule:
            for name in names([rule["expr"]]):
                alerts = used.setdefault(name, [])
                if rule["alert"] not in alerts:
                    alerts.append(rule["alert"])
    return used


def coverage(dashboards: list[Json]) -> str:
    """Return the table as Markdown."""
    on_dashboards, in_alerts = used_by_dashboards(dashboards), used_by_alerts()
    return INTRODUCTION + "".join(
        f"| `{name}` | {', '.join(on_dashboards.get(name, ()))} | {', '.join(in_alerts.get(name, ()))} |\n"
        for name in metrics()
    )


def importance(dashboards: list[Json]) -> str:
    """Return which metrics the series limit never cuts, which it cuts last, and which alerts need them, as CSV."""
    alerts = used_by_alerts()
    read_by = dict.fromkeys(used_by_dashboards(dashboards), "dashboards") | dict.fromkeys(alerts, "alerts")
    rows = [
        f"{name},{read_by[name]},{' '.join(alerts.get(name, ()))}\n" for name in metrics() if name in read_by
    ]
    return "metric,read_by,alerts\n" + "".join(rows)


def _rules() -> Iterator[Json]:
    for path in sorted(RULES.glob("*.yaml")):
        for group in load_yaml(path.read_text())["groups"]:
            yield from group["rules"]


@cache
def _recorded() -> dict[str, list[tuple[str, str]]]:
    """Return (resource or "", expression) of each recording rule by name."""
    recorded: dict[str, list[tuple[str, str]]] = {}
    for rule in (each for each in _rules() if "record" in each):
        recorded.setdefault(rule["record"], []).append(
            (rule.get("labels", {}).get("resource", ""), rule["expr"])
        )
    return recorded


def names(expressions: Sequence[str]) -> set[str]:
    """Return the names in expressions, and in the recording rules that they use."""
    found: set[tuple[str, str]] = set()
    texts = list(expressions)
    while texts:
        for name, resource in set(METRIC.findall(texts.pop())) - found:
            found.add((name, resource))
            rules = _recorded().get(name, [])
            asked = [expr for of, expr in rules if not resource or of in resource.split("|")]
            texts += asked or [expr for of, expr in rules if not of]
    return {name for name, _ in found}
