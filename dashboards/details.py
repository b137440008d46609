"""Dashboard of the details of one server: each metric that no other dashboard shows, as the catalogue describes it."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from dashboards import common
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries
from dashboards.queries import Json, Query, rate

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.model import Collector, Metric
from ase_exporter.sysmon.metrics import SYSMON

NO_SYSMON = "Not collected: sp_sysmon is off (targets: sysmon: in the configuration; needs sa_role)"
# Facts in labels, times, and single figures of a report: no graph shows them.
_NO_GRAPH = ("_info", "_timestamp_seconds", "_sysmon_cell")
# Units of Grafana by how a name ends; a rate of seconds is a number of tasks.
_GAUGES = {"_bytes": "bytes", "_seconds": "s", "_ratio": "percentunit", "_per_second": "count:/s"}
_RATES = {"_bytes_total": "Bps", "_seconds_total": "short"}
_WORDS = {
    "cpu": "CPU",
    "io": "I/O",
    "ios": "I/Os",
    "ulc": "ULC",
    "apf": "prefetch",
    "os": "OS",
    "rep": "replication",
    "sql": "SQL",
}

# What one use costs: title, unit, counter, uses, legend, source.
RATIOS = (
    (
        "Time per execution of statements",
        "s",
        "ase_statement_seconds_total",
        "ase_statement_uses_total",
        "{{database}} {{statement}}",
        "monCachedStatement.TotalElapsedTime, UseCount",
    ),
    (
        "Logical reads per execution of statements",
        "short",
        "ase_statement_logical_reads_total",
        "ase_statement_uses_total",
        "{{database}} {{statement}}",
        "monCachedStatement.TotalLIO, UseCount",
    ),
    (
        "Time per execution of procedures",
        "s",
        "ase_procedure_seconds_total",
        "ase_procedure_executions_total",
        "{{database}} {{procedure}}",
        "monCachedProcedures.ExecutionTime, ExecutionCount",
    ),
    (
        "Lock waits per request by object (good: none)",
        "percentunit",
        "ase_object_lock_waits_total",
        "ase_object_lock_requests_total",
        "{{database}} {{object}} {{index}}",
        "monOpenObjectActivity.LockWaits, LockRequests",
    ),
    (
        "Time per I/O by device and use (good: < 30 ms)",
        "s",
        "ase_device_queue_seconds_total",
        "ase_device_queue_ios_total",
        "{{device}} {{io}}",
        "monIOQueue.IOTime, IOs",
    ),
    (
        "Contention of slots (good: even)",
        "percentunit",
        "ase_spinlock_slot_waits_total",
        "ase_spinlock_slot_grabs_total",
        "{{spinlock}} [{{slot}}]",
        "monSpinlockActivity.Waits, Grabs",
    ),
)


def details(shown: Collection[str]) -> Json:
    """Return the dashboard. shown: the metrics that other dashboards show."""
    return dashboard(
        uid="ase-details",
        title="ASE details",
        description="Every metric of one server that no other dashboard shows, by collector, and sp_sysmon.",
        panels=[*_panels(shown), common.not_collected()],
        one_server=True,
    )


def _panels(shown: Collection[str]) -> Iterator[Panel]:
    yield Row("Per use: statements, procedures, objects, devices, spinlocks")
    for title, unit, counter, uses, legend, source in RATIOS:
        yield TimeSeries(
            title=title,
            description=f"The ten highest; from collectors that are opt-in. Source: {source}.",
            unit=unit,
            queries=[Query(f"topk(10, {rate(counter)} / ({rate(uses)} > 0))", legend)],
            empty="Not collected (yet): the collector is opt-in; set it to true in the module",
            width=8,
        )
    for name, collector in load_catalogue()[0].collectors.items():
        unseen = {
            metric: each
            for metric, each in collector.metrics.items()
            if metric not in shown and not metric.endswith(_NO_GRAPH)
        }
        if unseen:
            yield Row(f"{name}{'' if collector.default else ' (opt-in)'}: {collector.help}")
            yield from _in_rows([_of_collector(name, collector, *each) for each in unseen.items()])
    yield Row("sp_sysmon, which the exporter runs on a schedule without clearing counters")
    yield from _in_rows(
        [
            _graph(
                metric,
                declared.labels,
                f"{declared.help} Source: sp_sysmon, repeated until the next sample.",
                NO_SYSMON,
            )
            for metric, declared in SYSMON.by_name.items()
            if not metric.endswith(_NO_GRAPH)
        ]
    )


def _in_rows(graphs: list[TimeSeries]) -> Iterator[TimeSeries]:
    """Three in a row; the last ones share what is left."""
    full = len(graphs) // 3 * 3
    yield from graphs[:full]
    for graph in graphs[full:]:
        yield replace(graph, width=24 // (len(graphs) - full))


def _of_collector(name: str, collector: Collector, metric: str, definition: Metric) -> TimeSeries:
    labels = [*({} if definition.total else collector.labels), *definition.labels]
    source = ", ".join(definition.all_sources()) or "the number of its rows"
    return _graph(
        metric,
        [*labels, *([definition.by] if definition.by else [])],
        f"{definition.help} Source: {collector.table or 'a select'}: {source} (collector {name}).",
        f"Not collected (yet): the collector {name} is off, has no rows, or its options, role or version are missing",
    )


def _graph(metric: str, labels: Collection[str], description: str, empty: str) -> TimeSeries:
    """Return a graph of the ten largest series of a metric."""
    counts = metric.endswith("_total")
    units = _RATES if counts else _GAUGES
    unit = next(
        (unit for end, unit in units.items() if metric.endswith(end)), "count:/s" if counts else "none"
    )
    words = metric.removeprefix("ase_").removesuffix("_total").split("_")
    title = " ".join(_WORDS.get(word, word) for word in words)
    return TimeSeries(
        title=title[0].upper() + title[1:],
        description=description,
        unit=unit,
        queries=[
            Query(
                f"topk(10, {rate(metric) if counts else f'{metric}{{$selector}}'})",
                " ".join(f"{{{{{label}}}}}" for label in labels or ["instance"]),
            )
        ],
        empty=empty,
        width=8,
    )
