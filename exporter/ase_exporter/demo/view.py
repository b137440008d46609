"""Output of the demo: addresses, live figures and the comparison of all runs in the terminal, and a page."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ase_exporter.compare.marks import marks_between
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.demo.replay import CACHES, Run, RunFigures
from ase_exporter.demo.stack import SERVER
from ase_exporter.demo.webhook import Notification
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import time_chart

WARNING, SEVERE = threshold("spinlock.cache_warning"), threshold("spinlock.critical")
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


def addresses(of: Mapping[str, str]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, address in of.items():
        table.add_row(Text(name, style="bold"), address)
    return table


def live(run: Run | None, now: RunFigures, firing: Iterable[Mapping[str, str]], note: str) -> RenderableType:
    table = Table(title=_title(run), title_justify="left", min_width=60)
    table.add_column("measure")
    table.add_column("now", justify="right")
    for cache in CACHES:
        value = now.contention[cache]
        table.add_row(f"spinlock contention, {cache}", Text(_percent(value), style=_colour(value)))
    table.add_row("CPU busy", _percent(now.cpu_busy))
    table.add_row("throughput per CPU unit", _number(now.throughput))
    alerts = sorted({_alert(labels) for labels in firing})
    table.add_row("firing alerts", Text("\n".join(alerts) or "none", style="red" if alerts else "green"))
    return Group(table, Text(note, style="dim"))


def comparison(measured: Mapping[str, RunFigures], published: Mapping[str, RunFigures]) -> RenderableType:
    """Return the table of all runs: measured figures, with the published ones in brackets."""
    table = Table(
        title="Measured by Prometheus over the steady part of each run (published in the case study)",
        title_justify="left",
    )
    table.add_column("run")
    for column in (*CACHES, "CPU busy", "transactions per CPU unit"):
        # Broken here, because rich would cut a word that is wider than its share of 80 columns.
        table.add_column(fill(column, 8, break_long_words=False), justify="right", no_wrap=True)
    for name, figures in published.items():
        if name in measured:
            table.add_row(
                name, *(f"{value}\n({expected})" for value, expected in cells(measured[name], figures))
            )
    if missing := [name for name in published if name not in measured]:
        table.caption = f"not measured long enough: {', '.join(missing)}"
    return table


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
    """The replay as one HTML page that loads nothing. end: Unix time; step: seconds between samples.

    Raises PrometheusError.
    """
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


def cells(measured: RunFigures, published: RunFigures) -> list[tuple[str, str]]:
    """The figures of a run as text, each with the published one."""
    return [
        *((_percent(measured.contention[cache]), _percent(published.contention[cache])) for cache in CACHES),
        (_percent(measured.cpu_busy), _percent(published.cpu_busy)),
        (_number(measured.throughput), _number(published.throughput)),
    ]


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * ratio:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _title(run: Run | None) -> str:
    if run is None:
        return "waiting for the first run"
    return f"{run.name}: {run.features}"


def _alert(labels: Mapping[str, str]) -> str:
    subject = labels.get("spinlock") or labels.get("instance", "")
    return f"{labels.get('alertname', '')} {labels.get('severity', '')}: {subject}"


def _colour(contention: float | None) -> str:
    if contention is None:
        return "dim"
    if contention > SEVERE:
        return "bold red"
    return "yellow" if contention > WARNING else "green"
