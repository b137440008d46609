"""The figures that a DBA reads first: throughput, CPU, contention, hit ratios, waits and task switches."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.metrics import headline_values
from ase_exporter.sysmon.structure import Report

Unit = Literal["/s", "%", ""]
Values = Mapping[tuple[str, ...], float]

_MAX_SWITCHES = 3
_MIN_OTHER_CONTENTION = 1.0


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
    return list(_figures(headline_values(report), everything))


def version_of(report: Report) -> str:
    """Release and operating system of the banner: '16.0 SP04 PL03'."""
    parts = report.header.version.split("/")
    return parts[1] if len(parts) > 1 else report.header.version


def engines(report: Report) -> int:
    """How many engines the report shows."""
    kernel = report.section(SECTION_KEYWORDS["kernel"])
    labels = {row.label for row in kernel.rows if row.label.startswith("Engine ")} if kernel else set()
    return len(labels)


def _figures(known: Mapping[str, Values], everything: bool) -> Iterator[Figure]:
    yield from _plain(known, "Committed transactions", "committed_transactions_per_second", "/s")
    busy = {state: value for (state,), value in known.get("server_busy_ratio", {}).items()}
    used = [value for state, value in busy.items() if state in ("user", "system", "cpu")]
    if used:
        yield _percent("CPU busy", math.fsum(used))
    yield from (_percent(f"CPU {state}", value) for state, value in busy.items())
    yield from _plain(known, "CPU units", "cpu_units")
    yield from _plain(known, "Transactions per CPU unit", "throughput_per_cpu_unit", "/s")
    for (cache,), ratio in known.get("cache_spinlock_contention_ratio", {}).items():
        yield _percent(f"Spinlock contention, {cache}", ratio)
    for (spinlock,), ratio in known.get("spinlock_contention_ratio", {}).items():
        if everything or 100 * ratio >= _MIN_OTHER_CONTENTION:
            yield _percent(f"Spinlock contention, {spinlock}", ratio)
    searches = known.get("cache_searches_per_second", {})
    yield from _hit_ratio(searches, "all caches")
    for cache in dict.fromkeys(cache for cache, _ in searches):
        yield from _hit_ratio({each: rate for each, rate in searches.items() if each[0] == cache}, cache)
    requests = known.get("semaphore_requests_per_second", {})
    for kind in ("Log", "ULC"):
        outcomes = {labels[0]: rate for labels, rate in requests.items() if labels[1] == kind}
        if total := math.fsum(outcomes.values()):
            yield _percent(f"{kind} semaphore waits", 1 - outcomes.get("Granted", 0.0) / total)
    waits, locks = (known.get(f"lock_{what}_per_second", {}).get(()) for what in ("waits", "requests"))
    if waits is not None and locks:
        yield _percent("Lock waits", waits / locks)
    yield from _plain(known, "Deadlocks", "deadlocks_per_second", "/s")
    yield from _plain(known, "Disk I/Os", "disk_ios_per_second", "/s")
    switches = known.get("task_context_switches_per_second", {})
    total = math.fsum(switches.values())
    ranked = sorted(switches.items(), key=lambda each: -each[1])[: None if everything else _MAX_SWITCHES]
    for (cause,), rate in ranked if total else ():
        if rate or everything:
            yield _percent(f"Task switches, {cause}", rate / total)


def _hit_ratio(searches: Values, name: str) -> Iterator[Figure]:
    """searches: rates by cache and outcome."""
    hits = math.fsum(rate for (_, outcome), rate in searches.items() if outcome == "Hits")
    if total := math.fsum(searches.values()):
        yield _percent(f"Hit ratio, {name}", hits / total)


def _plain(known: Mapping[str, Values], name: str, metric: str, unit: Unit = "") -> Iterator[Figure]:
    yield from (Figure(name, round(value, 2), unit) for value in known.get(metric, {}).values())


def _percent(name: str, ratio: float) -> Figure:
    return Figure(name, round(100 * ratio, 1), "%")
