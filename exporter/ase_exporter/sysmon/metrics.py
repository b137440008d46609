"""A report as metric families: its headline figures.

metrics.csv declares the metrics, headlines.csv says of which rows they are. A row is known by its section and by its
sub-headings and label, joined by ' / '; the named groups of the pattern become labels. Where versions name a row
differently, the pattern matches both.
"""

import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ase_exporter.assets import shipped_rows
from ase_exporter.metrics.declared import DeclaredMetrics
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PERCENT, PERCENT_OF_TOTAL, Report, ReportRow

SYSMON = DeclaredMetrics(Path(__file__).with_name("metrics.csv"))
_PREFIX = "ase_sysmon_"
_EXACT_RATE = 500
_ENGINE_TABLES = ("Engine Utilization (Tick %)", "Engine Busy Utilization", "Engine Busy Utilization:")
# Columns of the busy tables and their `state`; the process kernel knows no split into user and system.
_BUSY_STATES = {
    "user_busy": "user",
    "system_busy": "system",
    "cpu_busy": "cpu",
    "io_busy": "io",
    "idle": "idle",
    "percent": "cpu",
    "average": "cpu",
}


class _Headline(NamedTuple):
    """One line of headlines.csv.

    unit: rate = count of the sample / its seconds; ratio = percent / 100; states = every busy column as a
    ratio with a label `state`; value = the one figure as printed.
    """

    name: str
    unit: str
    section: str
    pattern: re.Pattern[str]
    constant: Mapping[str, str]


@cache
def _headlines() -> list[_Headline]:
    return [
        _Headline(
            line["name"],
            line["unit"],
            line["section"],
            re.compile(line["row"]),
            dict(pair.split("=", 1) for pair in line["constant"].split()),
        )
        for line in shipped_rows(Path(__file__).with_name("headlines.csv"))
    ]


def families(report: Report, ended: float | None = None, now: float | None = None) -> list[Family]:
    """Everything that is exported of one report.

    ended: when the sample ended in seconds since the epoch, where known better than by the report, which
    prints its server's wall clock without a zone (read as this machine's).
    """
    sample = _sample(report, ended, time.time() if now is None else now)
    return [family for family in (*sample, *headlines(report)) if family.samples]


def headlines(report: Report) -> list[Family]:
    """The headline figures; a metric without a row in the report is left out."""
    return [SYSMON.family(_PREFIX + name, found.items()) for name, found in headline_values(report).items()]


def headline_values(report: Report) -> dict[str, dict[tuple[str, ...], float]]:
    """Every headline metric without its prefix `ase_sysmon_`, by its label values."""
    values: dict[str, dict[tuple[str, ...], float]] = {}
    seconds = elapsed_seconds(report)
    for headline in _headlines():
        of_metric = values.setdefault(headline.name, {})
        for labels, value in _matches(report, headline, seconds):
            of_metric.setdefault(labels, value)
    _add_of_engines(report, values)
    return {name: found for name, found in values.items() if found}


def _add_of_engines(report: Report, values: Mapping[str, dict[tuple[str, ...], float]]) -> None:
    """What some kernels do not print: the average of one engine, and CPU units of the process kernel.

    The units are the sum of the engines' CPU busy.
    """
    busy, units = values["server_busy_ratio"], values["cpu_units"]
    kernel = report.section("Kernel Utilization")
    engines = [row for row in kernel.rows if row.path[:1] and row.path[0] in _ENGINE_TABLES] if kernel else []
    if not busy and len(engines) == 1:
        busy.update({(state,): value for state, value in _busy(engines[0])})
    if units or ("cpu",) not in busy:
        return
    used = [
        cell.value
        for row in engines
        if row.label.startswith("Engine ")
        for cell in row.cells
        if _BUSY_STATES.get(cell.measure) == "cpu"
    ]
    if not used:
        return
    units[()] = _ratio(sum(used))
    commits = values["committed_transactions_per_second"]
    if units[()] > 0 and commits:
        rate = next(iter(commits.values()))
        values["throughput_per_cpu_unit"][()] = round(rate / units[()], 1)


def elapsed_seconds(report: Report) -> float:
    """Length of the sample in seconds, which exceeds the interval asked for; 0 if unknown.

    Count divided by rate of the busiest row is exact to a millisecond; the header has whole seconds.
    """
    interval = report.header.interval.total_seconds() if report.header.interval else 0.0
    rates = [
        (row.get(PER_SEC) or 0.0, row.get(COUNT) or 0.0)
        for section in report.sections
        for row in section.rows
    ]
    rate, count = max(rates, default=(0.0, 0.0))
    if rate < _EXACT_RATE or not interval / 2 <= count / rate <= (interval or count) * 2:
        return interval
    return count / rate


def _sample(report: Report, ended: float | None, now: float) -> Iterator[Family]:
    header = report.header
    if ended is None and header.ended is not None:
        ended = header.ended.timestamp()
    values = {
        "end_timestamp_seconds": ended,
        "age_seconds": None if ended is None else max(now - ended, 0),
        "interval_seconds": header.interval.total_seconds() if header.interval is not None else None,
        "cleared_counters": cleared_counters(report) if header.mode else None,
        "complete": report.complete and not report.messages,
        "warnings": len(report.warnings),
    }
    for name, value in values.items():
        if value is not None:
            yield SYSMON.value(f"{_PREFIX}sample_{name}", value)


def cleared_counters(report: Report) -> bool:
    """Whether the sample reset the counters, which other tools read too."""
    return report.header.mode.casefold() == "reset counters"


def _matches(report: Report, headline: _Headline, seconds: float) -> Iterator[tuple[tuple[str, ...], float]]:
    names = SYSMON.by_name[_PREFIX + headline.name].labels
    for section in report.sections:
        for row in section.rows if section.name == headline.section else ():
            match = headline.pattern.fullmatch(row.name)
            if match is None:
                continue
            known = {**headline.constant, **{name: text or "" for name, text in match.groupdict().items()}}
            for state, value in _values(row, headline.unit, seconds):
                yield tuple({**known, "state": state}[name] for name in names), value


def _values(row: ReportRow, unit: str, seconds: float) -> Iterator[tuple[str, float]]:
    """State ('' but for busy tables) and value of one row."""
    count, rate = row.get(COUNT), row.get(PER_SEC)
    percent = row.get(PERCENT_OF_TOTAL)
    percent = row.get(PERCENT) if percent is None else percent
    if unit == "states":
        yield from _busy(row)
    elif unit == "value":
        yield from (("", cell.value) for cell in row.cells[:1])
    elif unit == "ratio" and percent is not None:
        yield "", _ratio(percent)
    elif unit == "rate" and count is not None and count >= 0 and seconds > 0:
        yield "", count / seconds
    elif unit == "rate" and rate is not None and rate >= 0:
        yield "", rate


def _busy(row: ReportRow) -> Iterator[tuple[str, float]]:
    """State and share of each busy column."""
    for cell in row.cells:
        if cell.measure in _BUSY_STATES:
            yield _BUSY_STATES[cell.measure], _ratio(cell.value)


def _ratio(percent: float) -> float:
    """A printed percentage in base units, without the noise of binary fractions."""
    return round(percent / 100, 6)
