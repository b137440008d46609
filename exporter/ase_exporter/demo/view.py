"""What the demo shows: addresses, the live table, and the table of all runs at the end."""

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ase_exporter.demo.replay import CACHES, Figures, Run

WARNING, SEVERE = 0.10, 0.50


def addresses(of: Mapping[str, str]) -> RenderableType:
    """Where everything is to be found."""
    table = Table.grid(padding=(0, 2))
    for name, address in of.items():
        table.add_row(Text(name, style="bold"), address)
    return table


def live(run: Run | None, now: Figures, firing: Iterable[Mapping[str, str]], note: str) -> RenderableType:
    """The server as it is now."""
    table = Table(title=_title(run), title_justify="left", min_width=60)
    table.add_column("measure")
    table.add_column("now", justify="right")
    for cache in CACHES:
        value = now.contention[cache]
        table.add_row(f"spinlock contention, {cache}", Text(percent(value), style=_colour(value)))
    table.add_row("CPU busy", percent(now.cpu_busy))
    table.add_row("throughput per CPU unit", number(now.throughput))
    alerts = sorted({_alert(labels) for labels in firing})
    table.add_row("firing alerts", Text("\n".join(alerts) or "none", style="red" if alerts else "green"))
    return Group(table, Text(note, style="dim"))


def comparison(seen: Mapping[str, Figures], published: Mapping[str, Figures]) -> RenderableType:
    """Every run: what Prometheus measured, and in brackets what the case study printed."""
    table = Table(
        title="Measured by Prometheus over the steady part of each run (printed in the case study)",
        title_justify="left",
    )
    table.add_column("run", no_wrap=True)
    for column in (*CACHES, "CPU busy", "transactions per CPU unit"):
        table.add_column(column, justify="right")
    for name, printed in published.items():
        if name in seen:
            table.add_row(name, *(f"{ours} ({theirs})" for ours, theirs in _cells(seen[name], printed)))
    if missing := [name for name in published if name not in seen]:
        table.caption = f"not seen long enough: {', '.join(missing)}"
    return table


def _cells(seen: Figures, printed: Figures) -> list[tuple[str, str]]:
    return [
        *((percent(seen.contention[cache]), percent(printed.contention[cache])) for cache in CACHES),
        (percent(seen.cpu_busy), percent(printed.cpu_busy)),
        (number(seen.throughput), number(printed.throughput)),
    ]


def percent(ratio: float | None) -> str:
    """A ratio as the case study prints it."""
    return "-" if ratio is None else f"{100 * ratio:.1f} %"


def number(value: float | None) -> str:
    """A figure with one decimal."""
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
