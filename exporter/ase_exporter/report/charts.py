"""The charts of a report: lines over the period with its changes and gaps."""

from dataclasses import dataclass

import numpy as np

from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
from ase_exporter.pages.text import as_duration, as_figure
from ase_exporter.pages.time_chart import TimeChart, time_chart
from ase_exporter.report.history import Values
from ase_exporter.report.server_report import ServerReport

MAX_LINES = 5
# A spinlock with less contention all the time tells nothing.
MIN_CONTENTION = 0.01


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart with its title, which says what its height is."""

    title: str
    chart: TimeChart
    caption: str


def charts(report: ServerReport) -> list[Drawn]:
    """CPU, contention and throughput over the period, each with the changes; without those that would be empty."""
    history = report.history
    means = f"Means of {as_duration(report.period.step)}; dashed: changes by number; grey: no data."
    estimate = f"{means} Spinning is an estimate: {threshold(SECONDS_PER_SPIN) * 1e9:g} ns a spin."
    contended = [
        each for each in history.spinlocks if np.nanmax(each.contention, initial=0.0) >= MIN_CONTENTION
    ]
    spinlocks = {each.name: each.contention * 100 for each in contended[:MAX_LINES]}
    cpu = {"busy": history.busy * 100, "of that: spinning": history.spinning * 100}
    wanted: list[tuple[str, str, dict[str, Values], str]] = [
        ("CPU of the engines", "%", cpu, estimate),
        ("Contention of the spinlocks that spin most, grabs that wait", "%", spinlocks, means),
        ("Transactions per CPU unit", "", {"": history.per_cpu_unit}, means),
        ("Transactions", "per second", {"": history.transactions}, means),
    ]
    found = [_drawn(report, *each) for each in wanted]
    return [each for each in found if each.chart.lines]


def _drawn(report: ServerReport, title: str, unit: str, lines: dict[str, Values], caption: str) -> Drawn:
    period = report.period
    times = (period.starts + period.step / 2).tolist()
    known = {name: values for name, values in lines.items() if np.isfinite(values).any()}
    chart = time_chart(
        [(times, values.tolist()) for values in known.values()],
        unit,
        period.start,
        period.end,
        names=list(known) if len(lines) > 1 or "" not in lines else (),
        gaps=[(gap.start, gap.end, gap.name) for gap in report.gaps],
        marks=[(effect.at, ", ".join(map(str, effect.marks))) for effect in report.effects],
    )
    return Drawn(f"{title}, 0 to {as_figure(chart.greatest)} {unit}".rstrip(), chart, caption)
