"""The figures that a DBA reads first: throughput, CPU, contention, hit ratios, waits and task switches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.metrics import elapsed_seconds, headline_values
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PERCENT_OF_TOTAL, Report

Unit = Literal["/s", "%", ""]

_MAX_SWITCHES = 3
_MIN_OTHER_CONTENTION = 1.0
_WAITED = ("Waited", "Local Waited", "Global Waited")


@dataclass(frozen=True, slots=True)
class Figure:
    """One headline. name: the same in every report; unit: '/s', '%' or '' for a plain number."""

    name: str
    value: float
    unit: Unit = ""


def summary(report: Report, everything: bool = False) -> list[Figure]:
    """The headlines of one report, the most important first; what it does not print is left out.

    everything: also contention below 1 % and all causes of task switches.
    """
    return [
        *_throughput(report),
        *_contention(report, 0.0 if everything else _MIN_OTHER_CONTENTION),
        *_waits(report),
        *_switches(report, None if everything else _MAX_SWITCHES),
    ]


def figure_text(value: float, unit: Unit) -> str:
    """A figure with its unit for people."""
    return f"{value:,.0f} {unit}".strip() if abs(value) >= 1000 else f"{value:.4g} {unit}".strip()


def version_of(report: Report) -> str:
    """Release and operating system of the banner: '16.0 SP04 PL03'."""
    parts = report.header.version.split("/")
    return parts[1] if len(parts) > 1 else report.header.version


def engines(report: Report) -> int:
    """How many engines the report shows."""
    kernel = report.section(SECTION_KEYWORDS["kernel"])
    labels = {row.label for row in kernel.rows if row.label.startswith("Engine ")} if kernel else set()
    return len(labels)


def _throughput(report: Report) -> Iterator[Figure]:
    yield from _rate(report, "Committed transactions", "Transaction Profile", "Committed Xacts")
    values = headline_values(report)
    busy = {labels[0]: value for labels, value in values.get("server_busy_ratio", {}).items()}
    used = [value for state, value in busy.items() if state in ("user", "system", "cpu")]
    if used:
        yield Figure("CPU busy", round(sum(used) * 100, 1), "%")
    for state, value in busy.items():
        yield Figure(f"CPU {state}", round(value * 100, 1), "%")
    for units in values.get("cpu_units", {}).values():
        yield Figure("CPU units", units)
    for per_unit in values.get("throughput_per_cpu_unit", {}).values():
        yield Figure("Transactions per CPU unit", per_unit, "/s")


def _contention(report: Report, min_percent: float) -> Iterator[Figure]:
    caches = report.section("Data Cache Management")
    for row in caches.rows if caches else ():
        percent = row.get(PERCENT_OF_TOTAL)
        if row.label == "Spinlock Contention" and percent is not None and row.path:
            yield Figure(f"Spinlock contention, {row.path[0].removeprefix('Cache: ')}", percent, "%")
    for section in report.sections:
        for row in section.rows if section is not caches else ():
            percent = row.get(PERCENT_OF_TOTAL)
            if row.label.endswith("Spinlock Contention") and percent is not None and percent >= min_percent:
                name = row.path[-1] if row.label == "Spinlock Contention" else row.label.split(" Spinlock")[0]
                yield Figure(f"Spinlock contention, {name}", percent, "%")
    for row in caches.rows if caches else ():
        percent = row.get(PERCENT_OF_TOTAL)
        if row.label in ("Total Cache Hits", "Cache Hits") and percent is not None and row.path:
            name = "all caches" if row.label == "Total Cache Hits" else row.path[0].removeprefix("Cache: ")
            yield Figure(f"Hit ratio, {name}", percent, "%")


def _waits(report: Report) -> Iterator[Figure]:
    for kind in ("Log", "ULC"):
        rows = [
            report.find("Transaction Management", label, f"{kind} Semaphore Requests") for label in _WAITED
        ]
        percents = [row.get(PERCENT_OF_TOTAL) for row in rows if row]
        known = [percent for percent in percents if percent is not None]
        if known:
            yield Figure(f"{kind} semaphore waits", round(sum(known), 1), "%")
    locks = report.find("Lock Management", "Avg Lock Contention")
    if locks and (percent := locks.get(PERCENT_OF_TOTAL)) is not None:
        yield Figure("Lock waits", percent, "%")
    yield from _rate(report, "Deadlocks", "Lock Management", "Deadlock Percentage")
    yield from _rate(report, "Disk I/Os", "Disk I/O Management", "Total Requested Disk I/Os")


def _switches(report: Report, count: int | None) -> Iterator[Figure]:
    tasks = report.section("Task Management")
    causes = [
        (row.get(PERCENT_OF_TOTAL) or 0.0, row.label)
        for row in (tasks.rows if tasks else ())
        if row.path[-1:] == ("Task Context Switches Due To:",)
    ]
    for percent, label in sorted(causes, reverse=True)[:count]:
        if percent > 0 or count is None:
            yield Figure(f"Task switches, {label}", percent, "%")


def _rate(report: Report, name: str, section: str, label: str) -> Iterator[Figure]:
    """A row per second: count by the seconds that the sample really took, as the metrics have it."""
    if row := report.find(section, label):
        count, seconds = row.get(COUNT), elapsed_seconds(report)
        known = count is not None and count >= 0 and seconds
        yield Figure(name, round((count or 0.0) / seconds, 2) if known else row.get(PER_SEC) or 0.0, "/s")
