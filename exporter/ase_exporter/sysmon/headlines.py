"""The figures that a DBA reads first, of a report: throughput, CPU, contention, hit ratios, waits and task switches."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.sysmon.metrics import headline_values
from ase_exporter.sysmon.structure import Report

Unit = Literal["/s", "%", ""]
Values = Mapping[tuple[str, ...], float]

_MAX_SWITCHES = 3
_MIN_OTHER_CONTENTION = 0.01


@dataclass(frozen=True, slots=True)
class Headline:
    """One figure. name: the same in every report. main: it is shown; others only beside one that is."""

    name: str
    value: float
    unit: Unit = ""
    main: bool = True


def headlines_of(report: Report) -> dict[str, Headline]:
    """The headlines of one report by name, the most important first; what it does not print is left out."""
    return {each.name: each for each in _headlines(headline_values(report))}


def _headlines(known: Mapping[str, Values]) -> Iterator[Headline]:
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
        yield _percent(f"Spinlock contention, {spinlock}", ratio, ratio >= _MIN_OTHER_CONTENTION)
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
    if total := math.fsum(switches.values()):
        for place, ((cause,), rate) in enumerate(sorted(switches.items(), key=lambda each: -each[1])):
            yield _percent(f"Task switches, {cause}", rate / total, rate > 0 and place < _MAX_SWITCHES)


def _hit_ratio(searches: Values, name: str) -> Iterator[Headline]:
    """searches: rates by cache and outcome."""
    hits = math.fsum(rate for (_, outcome), rate in searches.items() if outcome == "Hits")
    if total := math.fsum(searches.values()):
        yield _percent(f"Hit ratio, {name}", hits / total)


def _plain(known: Mapping[str, Values], name: str, metric: str, unit: Unit = "") -> Iterator[Headline]:
    yield from (Headline(name, round(value, 2), unit) for value in known.get(metric, {}).values())


def _percent(name: str, ratio: float, main: bool = True) -> Headline:
    return Headline(name, round(100 * ratio, 1), "%", main)
