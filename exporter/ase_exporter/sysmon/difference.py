"""Two reports side by side: their headlines, whether they can be compared, and what changed, by relevance."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from ase_exporter.sysmon.grammar import grammar, release
from ase_exporter.sysmon.metrics import cleared_counters
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL, Report, Row
from ase_exporter.sysmon.summary import engines, summary, version_of

_POINTS_PER_STEP = 20
_PERCENTS = (PERCENT, PERCENT_OF_TOTAL, "user_busy", "system_busy", "cpu_busy", "io_busy", "idle")
_SUMS_OF_PERCENTS = "Summary Total"
# A rate beside a percentage says how much work there was; the percentage says how it went.
_RATE_BESIDE_PERCENT = 0.5
_MAX_INTERVAL_RATIO = 2.0
_THREAD = re.compile(r"Thread \d+ \((?P<name>.*)\)")

Key = tuple[str, tuple[str, ...], str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in both reports; None where only the other one has it. factor: how relevant its row is."""

    section: str
    name: str
    measure: str
    before: float | None
    after: float | None
    factor: float = 1.0

    @property
    def in_points(self) -> bool:
        """Whether the figure is a percentage, so that its change is counted in percentage points."""
        return self.measure in _PERCENTS

    @property
    def weight(self) -> float:
        """How much it changed: e-folds of a rate (rates under 1 count little), or steps of 20 points."""
        before, after = self.before or 0.0, self.after or 0.0
        if self.in_points:
            return self.factor * abs(after - before) / _POINTS_PER_STEP
        return self.factor * abs(math.log((max(after, 0.0) + 1) / (max(before, 0.0) + 1)))


@dataclass(frozen=True, slots=True)
class HeadlineChange:
    """One headline figure in both reports; None where a report does not have it."""

    name: str
    unit: str
    before: float | None
    after: float | None


def headline_changes(before: Report, after: Report) -> list[HeadlineChange]:
    """The headlines of both reports, changed or not, in their order."""
    names = dict.fromkeys(figure.name for report in (before, after) for figure in summary(report))
    old, new = (
        {figure.name: figure for figure in summary(report, everything=True)} for report in (before, after)
    )
    return [
        HeadlineChange(
            name,
            (old.get(name) or new[name]).unit,
            old[name].value if name in old else None,
            new[name].value if name in new else None,
        )
        for name in names
    ]


def obstacles(before: Report, after: Report) -> list[str]:
    """Why two reports may not be comparable, one sentence each."""
    found = [
        f"the report {name} is not complete"
        for name, report in (("before", before), ("after", after))
        if not report.complete
    ]
    old, new = before.header, after.header
    pairs = (
        ("servers", old.server, new.server),
        ("versions", version_of(before), version_of(after)),
        ("numbers of engines", engines(before), engines(after)),
    )
    found += [f"different {what}: {one}, {two}" for what, one, two in pairs if one and two and one != two]
    if old.interval and new.interval:
        one, two = sorted((old.interval.total_seconds(), new.interval.total_seconds()))
        if two > _MAX_INTERVAL_RATIO * one:
            found.append(f"intervals of different length: {old.interval}, {new.interval}")
    if cleared_counters(before) != cleared_counters(after) and old.mode and new.mode:
        found.append(f"different sample modes: {old.mode}, {new.mode}")
    if old.ended and new.started and new.started < old.ended and old.server == new.server:
        found.append("the second report does not begin after the end of the first")
    return found


def changes(before: Report, after: Report) -> list[Change]:
    """All figures that differ, the most relevant first.

    Rows are compared by their percentage and by their rate per second, so that samples of different length may be
    compared; what has neither, by its count. A row that one report leaves out because nothing happened is 0 there.
    Threads are matched by name, not by number.
    """
    old, new = dict(_figures(before)), dict(_figures(after))
    found = []
    for key in (*old, *(key for key in new if key not in old)):
        section, path, label, measure = key
        one = old.get(key, _absent(before, key))
        two = new.get(key, _absent(after, key))
        if one == two:
            continue
        name = " / ".join((*path, label))
        beside = measure == PER_SEC and (*key[:3], PERCENT_OF_TOTAL) in (old.keys() | new.keys())
        factor = _relevance(f"{section} / {name}") * (_RATE_BESIDE_PERCENT if beside else 1.0)
        found.append(Change(section, name, measure, one, two, factor))
    return sorted(found, key=lambda change: -change.weight)


def _absent(report: Report, key: Key) -> float | None:
    """0 for a known row that the report leaves out because nothing happened; None for one that it cannot have."""
    title, path, label, measure = key
    section = next(
        (section for section in report.sections if _title(section.instance, section.name) == title), None
    )
    if section is None or (measure not in (PER_SEC, PERCENT_OF_TOTAL)):
        return None
    known = grammar().known(section.name, path, label)
    if known is None or release(report.header.version) not in known.releases:
        return None
    named = [part for part in path if part.startswith(("Cache: ", "ThreadPool : ")) or _is_device(path, part)]
    present = {part for row in section.rows for part in row.path}
    return 0.0 if all(part in present for part in named) else None


def _is_device(path: Sequence[str], part: str) -> bool:
    return path[0] == "Device Activity Detail" and part == path[-1] and len(path) > 1


def _title(instance: str, name: str) -> str:
    return f"{instance}: {name}" if instance else name


def _figures(report: Report) -> Iterator[tuple[Key, float]]:
    """Section, path, label and measure of each figure to compare; of figures of one name the first."""
    seen: set[Key] = set()
    threads: Counter[tuple[str, ...]] = Counter()
    for section in report.sections:
        title = _title(section.instance, section.name)
        for row in section.rows:
            if row.label.endswith(_SUMS_OF_PERCENTS) and row.get(PER_SEC) is None:
                continue
            label = row.label
            thread = _THREAD.fullmatch(label)
            if thread:
                threads[(*row.path, thread["name"])] += 1
                label = f"Thread ({thread['name']}) no. {threads[(*row.path, thread['name'])]}"
            for measure, value in _compared(row):
                key = (title, row.path, label, measure)
                if key not in seen:
                    seen.add(key)
                    yield key, value


def _compared(row: Row) -> Iterator[tuple[str, float]]:
    """Percentage and rate of a row that has them, else all that it has."""
    measures = {cell.measure for cell in row.cells}
    for cell in row.cells:
        if cell.measure == PER_XACT or (cell.measure == COUNT and PER_SEC in measures):
            continue
        yield cell.measure, cell.value


@cache
def _rules() -> list[tuple[re.Pattern[str], float]]:
    text = (Path(__file__).parent / "relevance.yaml").read_text(encoding="utf-8")
    return [(re.compile(rule["row"]), float(rule["factor"])) for rule in yaml.safe_load(text)]


def _relevance(name: str) -> float:
    return next((factor for pattern, factor in _rules() if pattern.fullmatch(name)), 1.0)
