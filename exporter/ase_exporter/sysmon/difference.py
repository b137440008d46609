"""Two reports side by side: their headlines, and what changed, by relevance."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.grammar import DEVICES, grammar, release
from ase_exporter.sysmon.headlines import Unit, headlines_of
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL, Report

_POINTS_PER_STEP = 20
_PERCENTS = (PERCENT, PERCENT_OF_TOTAL, "user_busy", "system_busy", "cpu_busy", "io_busy", "idle")
_SUMS_OF_PERCENTS = "Summary Total"
# A rate beside a percentage says how much work there was; the percentage says how it went.
_RATE_BESIDE_PERCENT = 0.5
_THREAD = re.compile(r"Thread \d+ \((?P<name>.*)\)")

_NAMED = (
    ("engines", re.compile(r"Engine \d+")),
    ("thread pools", re.compile(r"ThreadPool : .*")),
    ("caches", re.compile(r"Cache: .*")),
)
_SETTINGS = ("Your Runnable Process Search Count", "I/O Polling Process Count")

Key = tuple[str, tuple[str, ...], str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One figure before and after; None where only the other report has it.

    section, measure, factor: of a row, with how relevant that is. unit: of a headline.
    """

    name: str
    before: float | None
    after: float | None
    section: str = ""
    measure: str = ""
    factor: float = 1.0
    unit: Unit = ""

    @property
    def in_points(self) -> bool:
        """Whether the figure is a percentage, so that its change is counted in percentage points."""
        return self.unit == "%" or self.measure in _PERCENTS

    @property
    def weight(self) -> float:
        """How much it changed: e-folds of a rate (rates under 1 count little), or steps of 20 points; times factor."""
        before, after = self.before or 0.0, self.after or 0.0
        if self.in_points:
            return self.factor * abs(after - before) / _POINTS_PER_STEP
        return self.factor * abs(math.log((max(after, 0.0) + 1) / (max(before, 0.0) + 1)))


def headline_changes(before: Report, after: Report) -> list[Change]:
    """The headlines of both reports, changed or not, in their order."""
    old, new = headlines_of(before), headlines_of(after)
    names = dict.fromkeys(each.name for each in (*old.values(), *new.values()) if each.main)
    return [
        Change(
            name,
            old[name].value if name in old else None,
            new[name].value if name in new else None,
            unit=(old.get(name) or new[name]).unit,
        )
        for name in names
    ]


def changes(before: Report, after: Report) -> list[Change]:
    """All figures that differ, the most relevant first.

    Rows are compared by their percentage and by their rate per second, so that samples of different length may be
    compared; what has neither, by its count. A row that a report leaves out because nothing happened is 0 there.
    Engines, caches and devices are matched by name; what only one report has is a matter of configuration.
    Threads are matched by name, not by number.
    """
    reports = (before, after)
    figures = [_figures(report) for report in reports]
    named = [configuration(report) for report in reports]
    keys = dict.fromkeys(key for each in figures for key in each)
    with_percent = {key[:3] for key in keys if key[3] == PERCENT_OF_TOTAL}
    found = []
    for key in keys:
        section, path, label, measure = key
        own = any(name in named[0][kind] ^ named[1][kind] for kind, name in _names(path, label))
        old, new = (
            each[key] if key in each else _absent(report, key)
            for report, each in zip(reports, figures, strict=True)
        )
        if own or old == new or label in _SETTINGS:
            continue
        name = " / ".join((*path, label))
        beside = measure == PER_SEC and key[:3] in with_percent
        place = f"{section} / {name}"
        factor = next((float(rule["factor"]) for rule in _rules() if re.fullmatch(rule["row"], place)), 1.0)
        factor *= _RATE_BESIDE_PERCENT if beside else 1.0
        found.append(Change(name, old, new, section, measure, factor))
    return sorted(found, key=lambda change: -change.weight)


def _names(path: Sequence[str], label: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each engine, thread pool, cache and device that a row is about."""
    for part in (*path, label):
        for kind, pattern in _NAMED:
            if pattern.fullmatch(part):
                yield kind, part
    if path[:1] == DEVICES and len(path) > 1:
        yield "devices", path[1]


def configuration(report: Report) -> defaultdict[str, set[str]]:
    """What a report shows of the configuration, by its kind."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for section in report.sections:
        for row in section.rows:
            for kind, name in _names(row.path, row.label):
                found[kind].add(name)
            if row.label in _SETTINGS and row.cells:
                found[row.label].add(row.cells[0].text)
    return found


def configuration_changes(before: Report, after: Report) -> list[str]:
    """What the reports show of the server's configuration that is not the same, one sentence for each kind."""
    old, new = configuration(before), configuration(after)
    found = []
    for what in dict.fromkeys([*old, *new]):
        only = (("before", old[what] - new[what]), ("after", new[what] - old[what]))
        texts = [f"only {side}: {', '.join(sorted(names))}" for side, names in only if names]
        found += [f"{what}: {'; '.join(texts)}"] if texts else []
    return found


def _absent(report: Report, key: Key) -> float | None:
    """0 for a known row that the report leaves out because nothing happened; None for one that it cannot have."""
    title, path, label, measure = key
    section = next((one for one in report.sections if one.title == title), None)
    if section is None or measure not in (PER_SEC, PERCENT_OF_TOTAL):
        return None
    known = grammar().known(section.name, path, label)
    return 0.0 if known and release(report.header.version) in known.releases else None


def _figures(report: Report) -> dict[Key, float]:
    """Each figure to compare by section, path, label and measure; of figures of one name the first."""
    found: dict[Key, float] = {}
    threads: Counter[tuple[str, ...]] = Counter()
    for section in report.sections:
        for row in section.rows:
            if row.label.endswith(_SUMS_OF_PERCENTS) and row.get(PER_SEC) is None:
                continue
            path, label = row.path, row.label
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
