"""Dashboard of the details of one server: each metric that no other dashboard shows, as the catalogue describes it."""

from collections.abc import Collection, Iterator

from dashboards import common
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries
from dashboards.queries import Json, Query, per, rate

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.model import Collector, Metric
from ase_exporter.sysmon.metrics import SYSMON

NO_SYSMON = "Not collected: sp_sysmon is off (targets: sysmon: in the configuration; needs sa_role)"
# Facts in labels, and times: no graph shows them.
_NO_GRAPH = ("_info", "_timestamp_seconds")
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

# What one use costs: title, unit, counter, uses, legend.
RATIOS = (
    ("Time per execution of statements", "s", "statement_seconds", "statement_uses", "{{database}} {{statement}}"),
    ("Logical reads per execution of statements", "short", "statement_logical_reads", "statement_uses",
     "{{database}} {{statement}}"),
    ("Time per execution of procedures", "s", "procedure_seconds", "procedure_executions",
     "{{database}} {{procedure}}"),
    ("Lock waits per request by object (good: none)", "percentunit", "object_lock_waits", "object_lock_requests",
     "{{database}} {{object}} {{index}}"),
    ("Time per I/O by device and use (good: < 30 ms)", "s", "device_queue_seconds", "device_queue_ios",
     "{{device}} {{io}}"),
    ("Contention of slots (good: even)", "percentunit", "spinlock_slot_waits", "spinlock_slot_grabs",
     "{{spinlock}} [{{slot}}]"),
)  # fmt: skip


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
    yield Row("Per use: statements, procedures, objects, devices, spinlocks", across=3)
    for title, unit, counter, uses, legend in RATIOS:
        yield TimeSeries(
            title=title,
            description="The ten highest; from collectors that are opt-in.",
            unit=unit,
            queries=per(f"ase_{counter}_total", f"ase_{uses}_total", legend, top=10),
        )
    for name, collector in load_catalogue()[0].collectors.items():
        unseen = {
            metric: each
            for metric, each in collector.metrics.items()
            if metric not in shown and not metric.endswith(_NO_GRAPH)
        }
        if unseen:
            yield Row(f"{name}{'' if collector.default else ' (opt-in)'}: {collector.help}", across=3)
            yield from (_of_collector(name, collector, *each) for each in unseen.items())
    yield Row("sp_sysmon, which the exporter runs on a schedule without clearing counters", across=3)
    for metric, declared in SYSMON.by_name.items():
        if not metric.endswith(_NO_GRAPH):
            described = f"{declared.help} Source: sp_sysmon, repeated until the next sample."
            yield _graph(metric, declared.labels, described, NO_SYSMON)


def _of_collector(name: str, collector: Collector, metric: str, definition: Metric) -> TimeSeries:
    labels = [*({} if definition.total else collector.labels), *definition.labels]
    described = f"{definition.help} Collector: {name}."
    return _graph(metric, [*labels, *([definition.by] if definition.by else [])], described)


def _graph(metric: str, labels: Collection[str], description: str, empty: str = "") -> TimeSeries:
    """Return a graph of the ten largest series of a metric."""
    words = metric.removeprefix("ase_").removesuffix("_total").split("_")
    title = " ".join(_WORDS.get(word, word) for word in words)
    return TimeSeries(
        title=title[0].upper() + title[1:],
        description=description,
        queries=Query(
            f"topk(10, {rate(metric) if metric.endswith('_total') else f'{metric}{{$selector}}'})",
            " ".join(f"{{{{{label}}}}}" for label in labels or ["instance"]),
        ),
        empty=empty,
    )
