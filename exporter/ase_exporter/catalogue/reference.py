"""Generates the reference of all metrics from the catalogue: docs/metrics.md."""

from collections.abc import Iterator

from ase_exporter.catalogue.labels import INSTANCE_LABEL
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.model import UNITS, Collector, Metric

_HEAD = f"""# Metrics

Generated from the catalogue by `ase-exporter catalogue reference`; do not edit.

Every collector reads one table of the server. Those that are off by default are switched on by name in the
configuration (`modules: … collectors: {{NAME: true}}`). A metric appears where the server's version has its
columns. On Cluster Edition every metric of a table with InstanceID has the label `{INSTANCE_LABEL}` too.
Where a metric or collector is called experimental, its unit or its names could not be verified.
Counters only grow, whatever the raw counters do; see `ase_exporter_resets_total`.

| collector | default | read | topic |
|---|---|---|---|"""


def reference(catalogue: Catalogue) -> str:
    """The page as Markdown."""
    return "\n".join(_lines(catalogue)) + "\n"


def _lines(catalogue: Catalogue) -> Iterator[str]:
    yield _HEAD
    for name, collector in catalogue.collectors.items():
        state = "on" if collector.default else "off"
        yield f"| [{name}](#{name}) | {state} | {_pace(collector)} | {catalogue.topics[name]} |"
    for name, collector in catalogue.collectors.items():
        yield ""
        yield from _section(name, collector)


def _section(name: str, collector: Collector) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield collector.help
    yield ""
    source = f"`{collector.table}`" if collector.table else "a select of its own"
    yield f"- Source: {source}, {_pace(collector)}"
    yield f"- Default: {'on' if collector.default else 'off'}"
    yield f"- Since: ASE {collector.since}" + (f", {collector.edition} edition" if collector.edition else "")
    needs = [f"role `{role}`" for role in collector.roles] + [f"`{option}`" for option in collector.options]
    yield f"- Needs: {', '.join(needs) or 'a login'}"
    if collector.top:
        yield f"- Series: the top rows by {', '.join(collector.top)}; all others are summed as `rest`"
    if collector.experimental:
        yield "- Experimental"
    yield ""
    yield "| metric | kind | unit | labels | since | source | help |"
    yield "|---|---|---|---|---|---|---|"
    for metric_name, metric in collector.metrics.items():
        kind = "counter" if metric_name.endswith("_total") else "gauge"
        cells = (
            f"`{metric_name}`",
            kind,
            UNITS[metric.unit][1],
            ", ".join(_labels(collector, metric)),
            metric.since or collector.since,
            ", ".join(metric.sources().values()) or ("rows" if metric.count else "labels"),
            metric.help.replace("|", "\\|") + (" Experimental." if metric.experimental else ""),
        )
        yield f"| {' | '.join(cells)} |"


def _labels(collector: Collector, metric: Metric) -> list[str]:
    names = {*({} if metric.total else collector.labels), *metric.labels, *([metric.by] if metric.by else [])}
    return sorted(names)


def _pace(collector: Collector) -> str:
    return f"every {collector.interval:g} s at most" if collector.interval else "in every scrape"
