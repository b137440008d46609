"""Terminal output of the demo: addresses, live figures, and the final comparison of all runs."""

from collections.abc import Iterable, Mapping
from textwrap import fill

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ase_exporter.demo.replay import CACHES, Run, RunFigures
from ase_exporter.diagnosis.catalogue import threshold

WARNING, SEVERE = threshold("spinlock.cache_warning"), threshold("spinlock.critical")


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
