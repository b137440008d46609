"""The replay as one HTML page that loads nothing: what Prometheus measured along time, each run, and the alerts."""

from collections.abc import Mapping, Sequence

from ase_exporter.compare.marks import marks_between
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.demo.replay import CACHES, Run, RunFigures
from ase_exporter.demo.stack import SERVER
from ase_exporter.demo.view import cells
from ase_exporter.demo.webhook import Notification
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import time_chart

# Title, series, unit and factor of each chart.
_CHARTS = (
    *(
        (
            f"Spinlock contention, {cache}",
            f'ase:spinlock_contention:ratio_rate1m{{spinlock="{cache}"}}',
            "%",
            100,
        )
        for cache in CACHES
    ),
    ("CPU busy", "ase:cpu_busy:ratio_rate1m", "%", 100),
    ("Transactions per CPU unit", "ase:transactions_per_cpu_unit:ratio_rate1m", "", 1),
)


def replay_page(
    prometheus: Prometheus,
    runs: Sequence[Run],
    notifications: Sequence[Notification],
    measured: Mapping[str, RunFigures],
    published: Mapping[str, RunFigures],
    *,
    end: float,
    step: float,
) -> str:
    """The page. end: Unix time; step: seconds between samples. Raises PrometheusError."""
    start = runs[0].start
    firing: dict[tuple[str, str], list[float]] = {}
    for alert in notifications:
        # Changes have a column of their own.
        if alert.status == "firing" and start <= alert.received <= end and alert.name != "AseChanged":
            firing.setdefault((alert.name, alert.annotations.get("summary", "")), []).append(alert.received)
    found = marks_between(prometheus, server_selector(SERVER), start, end, end)
    spans = [(run.start, run.end or end, run.name) for run in runs]
    marks = [(times[0], ": ".join(what)) for what, times in firing.items()]
    charts = []
    for title, series, unit, factor in _CHARTS:
        lines = [
            (each.times.tolist(), (each.values * factor).tolist())
            for each in prometheus.over(series, start, end, step)
        ]
        chart = time_chart(lines[:1], unit, start, end, spans=spans, marks=marks)
        charts.append((f"{title}, 0 to {chart.greatest:,.1f} {unit}".rstrip(), chart))
    return render(
        "demo.html",
        title="Replay of the Memscale case study",
        charts=charts,
        runs=runs,
        changes=[[mark for mark in found if first <= mark.at < last] for first, last, _ in spans],
        cells={name: cells(figures, published[name]) for name, figures in measured.items()},
        columns=(*CACHES, "CPU busy", "transactions per CPU unit"),
        firing=[(times[0], *what, len(times)) for what, times in firing.items()],
    )
