"""Two reports side by side: their headlines, whether they can be compared, and what changed, by relevance."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.grammar import DEVICES, grammar, release, renamed_rows
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL, Report
from ase_exporter.sysmon.summary import Unit, summary

_POINTS_PER_STEP = 20
_PERCENTS = (PERCENT, PERCENT_OF_TOTAL, "user_busy", "system_busy", "cpu_busy", "io_busy", "idle")
_SUMS_OF_PERCENTS = "Summary Total"
# A rate beside a percentage says how much work there was; the percentage says how it went.
_RATE_BESIDE_PERCENT = 0.5
_THREAD = re.compile(r"Thread \d+ \((?P<name>.*)\)")

# Quantiles of Student's t for 99 % by degrees of freedom, from 1; the last is for all above.
_STUDENT = (
    *(63.7, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25),
    *(3.17, 3.11, 3.05, 3.01, 2.98, 2.95, 2.92, 2.8),
)
_NAMED = (
    ("engines", re.compile(r"Engine \d+")),
    ("thread pools", re.compile(r"ThreadPool : .*")),
    ("caches", re.compile(r"Cache: .*")),
)
_SETTINGS = ("Your Runnable Process Search Count", "I/O Polling Process Count")

Key = tuple[str, tuple[str, ...], str, str]
Side = Sequence[Report]
"""One run, or several of the same load: their mean is compared, and what they differ by is the noise."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure on both sides, the mean of several runs; None where only the other side has it.

    noise: what two sides differ by if nothing has changed, None without several runs. section, measure, factor: of a
    row, with how relevant that is. unit: of a headline.
    """

    name: str
    before: float | None
    after: float | None
    noise: float | None
    section: str = ""
    measure: str = ""
    factor: float = 1.0
    unit: Unit = ""

    @property
    def in_points(self) -> bool:
        """Whether the figure is a percentage, so that its change is counted in percentage points."""
        return self.unit == "%" or self.measure in _PERCENTS

    @property
    def within_noise(self) -> bool:
        """Whether runs of the same side differ as much."""
        if self.noise is None or self.before is None or self.after is None:
            return False
        return abs(self.after - self.before) <= self.noise

    @property
    def weight(self) -> float:
        """How much it changed, and how much that matters."""
        return self.factor * weight_of(self.before or 0.0, self.after or 0.0, self.in_points)


def weight_of(before: float, after: float, in_points: bool) -> float:
    """How much a figure changed: e-folds of a rate (rates under 1 count little), or steps of 20 points."""
    if in_points:
        return abs(after - before) / _POINTS_PER_STEP
    return abs(math.log((max(after, 0.0) + 1) / (max(before, 0.0) + 1)))


def headline_changes(before: Side, after: Side) -> list[Change]:
    """The headlines of both sides, changed or not, in their order."""
    names = dict.fromkeys(figure.name for report in (*before, *after) for figure in summary(report))
    sides = [
        [{figure.name: figure for figure in summary(report, everything=True)} for report in side]
        for side in (before, after)
    ]
    units = {name: figure.unit for side in sides for run in side for name, figure in run.items()}
    found = []
    for name in names:
        values = [[run[name].value for run in side if name in run] for side in sides]
        found.append(Change(name, _mean(values[0]), _mean(values[1]), _noise(*values), unit=units[name]))
    return found


def changes(before: Side, after: Side) -> list[Change]:
    """All figures that differ, the most relevant first; the noise of several runs is told, not left out.

    Rows are compared by their percentage and by their rate per second, so that samples of different length may be
    compared; what has neither, by its count. A row that a report leaves out because nothing happened is 0 there.
    Engines, caches and devices are matched by name; what only one side has is a matter of configuration.
    Threads are matched by name, not by number; rows that a release renamed go by their present name.
    """
    sides = [[_figures(report) for report in side] for side in (before, after)]
    names = [configuration(side) for side in (before, after)]
    keys = dict.fromkeys(key for side in sides for run in side for key in run)
    with_percent = {key[:3] for key in keys if key[3] == PERCENT_OF_TOTAL}
    found = []
    for key in keys:
        section, path, label, measure = key
        own = any(name in names[0][kind] ^ names[1][kind] for kind, name in _names(path, label))
        values = [
            [
                value
                for report, run in zip(side, runs, strict=True)
                if (value := run[key] if key in run else _absent(report, key)) is not None
            ]
            for side, runs in zip((before, after), sides, strict=True)
        ]
        one, two = _mean(values[0]), _mean(values[1])
        if own or one == two or label in _SETTINGS:
            continue
        name = " / ".join((*path, label))
        beside = measure == PER_SEC and key[:3] in with_percent
        place = f"{section} / {name}"
        factor = next((float(rule["factor"]) for rule in _rules() if re.fullmatch(rule["row"], place)), 1.0)
        factor *= _RATE_BESIDE_PERCENT if beside else 1.0
        found.append(Change(name, one, two, _noise(*values), section, measure, factor))
    return sorted(found, key=lambda change: -change.weight)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _noise(before: Sequence[float], after: Sequence[float]) -> float | None:
    """The difference of means that chance explains in 99 of 100 cases (Student); None without several runs."""
    freedom = len(before) + len(after) - 2
    if freedom < 1 or not before or not after:
        return None
    squares = math.fsum((value - fmean(side)) ** 2 for side in (before, after) for value in side)
    student = _STUDENT[min(freedom, len(_STUDENT)) - 1]
    return student * math.sqrt(squares / freedom * (1 / len(before) + 1 / len(after)))


def _names(path: Sequence[str], label: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each engine, thread pool, cache and device that a row is about."""
    for part in (*path, label):
        for kind, pattern in _NAMED:
            if pattern.fullmatch(part):
                yield kind, part
    if path[:1] == DEVICES and len(path) > 1:
        yield "devices", path[1]


def configuration(side: Side) -> defaultdict[str, set[str]]:
    """What a side shows of the configuration, by its kind."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for report in side:
        for section in report.sections:
            for row in section.rows:
                for kind, name in _names(row.path, row.label):
                    found[kind].add(name)
                if row.label in _SETTINGS and row.cells:
                    found[row.label].add(row.cells[0].text)
    return found


def _absent(report: Report, key: Key) -> float | None:
    """0 for a known row that the report leaves out because nothing happened; None for one that it cannot have."""
    title, path, label, measure = key
    section = next((one for one in report.sections if one.title == title), None)
    if section is None or measure not in (PER_SEC, PERCENT_OF_TOTAL):
        return None
    before = (old[1:] for old, now in renamed_rows().items() if (old[0], *now) == (section.name, path, label))
    places = [grammar().known(section.name, *one) for one in ((path, label), *before)]
    return 0.0 if any(one and release(report.header.version) in one.releases for one in places) else None


def _figures(report: Report) -> dict[Key, float]:
    """Each figure to compare by section, path, label and measure; of figures of one name the first."""
    found: dict[Key, float] = {}
    threads: Counter[tuple[str, ...]] = Counter()
    for section in report.sections:
        for row in section.rows:
            if row.label.endswith(_SUMS_OF_PERCENTS) and row.get(PER_SEC) is None:
                continue
            path, label = renamed_rows().get((section.name, row.path, row.label), (row.path, row.label))
            if thread := _THREAD.fullmatch(label):
                threads[(*row.path, thread["name"])] += 1
                label = f"Thread ({thread['name']}) no. {threads[(*row.path, thread['name'])]}"
            # Percentage and rate of a row that has them, else all that it has.
            left_out = (PER_XACT, COUNT) if row.get(PER_SEC) is not None else (PER_XACT,)
            for cell in row.cells:
                if cell.measure not in left_out:
                    found.setdefault((section.title, path, label, cell.measure), cell.value)
    return found


@cache
def _rules() -> list[dict[str, Any]]:
    """The rules of relevance.yaml: row, factor."""
    rules: list[dict[str, Any]] = load_yaml(Path(__file__).with_name("relevance.yaml").read_text("utf-8"))
    return rules
