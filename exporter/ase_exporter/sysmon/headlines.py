"""The rows of a report that become metrics.

A row is known by its section and by its sub-headings and label, joined by ' / '; the named groups of the
pattern become the metric's labels. Where versions name a row differently, the pattern matches both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["rate", "ratio", "states", "value"]

BUSY_STATES = {
    "user_busy": "user",
    "system_busy": "system",
    "cpu_busy": "cpu",
    "io_busy": "io",
    "idle": "idle",
    "percent": "cpu",
    "average": "cpu",
}
"""Columns of the busy tables and their `state`; the process kernel knows no split into user and system."""

_KERNEL = "Kernel Utilization"
_TASKS = "Task Management"
_LOG = "Transaction Management"
_METADATA = "Metadata Cache Management"
_LOCKS = "Lock Management"
_CACHES = "Data Cache Management"
_PROCEDURES = "Procedure Cache Management"
_NETWORK = "Network I/O Management"
_ENGINE_TABLE = r"Engine (?:Utilization \(Tick %\)|Busy Utilization):?"


@dataclass(frozen=True, slots=True)
class Headline:
    """One metric: rows of one section.

    unit: rate = count of the sample / its seconds; ratio = percent / 100; states = every busy column as a
    ratio with a label `state`; value = the one figure as printed.
    """

    name: str
    help: str
    section: str
    pattern: re.Pattern[str]
    unit: Unit
    constant: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names, sorted."""
        names = {*self.pattern.groupindex, *self.constant, *(["state"] if self.unit == "states" else [])}
        return tuple(sorted(names))


def _headline(name: str, unit: Unit, section: str, pattern: str, text: str, **constant: str) -> Headline:
    return Headline(f"ase_sysmon_{name}", text, section, re.compile(pattern), unit, constant)


HEADLINES = (
    _headline(
        "server_busy_ratio",
        "states",
        _KERNEL,
        rf"{_ENGINE_TABLE} / (?:Server )?Summary Average|(?:{_ENGINE_TABLE} / )?Summary:",
        "Share of engine ticks by state, average over all engines: Server Summary / Average.",
    ),
    _headline(
        "pool_busy_ratio",
        "states",
        _KERNEL,
        rf"{_ENGINE_TABLE} / ThreadPool : (?P<pool>.+) / Pool Summary Average",
        "Share of engine ticks by state, average over the engines of a thread pool: Pool Summary / Average.",
    ),
    _headline(
        "engine_busy_ratio",
        "states",
        _KERNEL,
        rf"{_ENGINE_TABLE}(?: / ThreadPool : .+)? / Engine (?P<engine>\d+)",
        "Share of an engine's ticks by state: Engine Utilization (Tick %) or Engine Busy Utilization.",
    ),
    _headline(
        "cpu_units",
        "value",
        _KERNEL,
        r"Adaptive Server threads are consuming",
        "CPU units in use by all threads of the server as the operating system sees it; 1 is one CPU.",
    ),
    _headline(
        "throughput_per_cpu_unit",
        "value",
        _KERNEL,
        r"Throughput \(committed xacts per CPU unit\)",
        "Committed transactions per second and CPU unit: Throughput (committed xacts per CPU unit).",
    ),
    _headline(
        "os_context_switches_per_second",
        "rate",
        _KERNEL,
        r"Context Switches at OS / ThreadPool : (?P<pool>.+) / (?P<kind>Voluntary|Non-Voluntary)",
        "Context switches of a thread pool's threads in the operating system: Context Switches at OS.",
    ),
    _headline(
        "task_context_switches_per_second",
        "rate",
        _TASKS,
        r"Task Context Switches Due To: / (?P<cause>.+)",
        "Tasks switched off their engine, by cause: Task Context Switches Due To.",
    ),
    _headline(
        "committed_transactions_per_second",
        "rate",
        "Transaction Profile",
        r"Transaction Summary / Committed Xacts",
        "Committed transactions: Committed Xacts.",
    ),
    _headline(
        "ulc_flushes_per_second",
        "rate",
        _LOG,
        r"ULC Flushes to Xact Log(?: / (?P<logging>.+))? / by (?P<cause>.+)",
        "User log cache flushes by cause and, from 15.7 on, by logging mode: ULC Flushes to Xact Log.",
    ),
    _headline(
        "semaphore_requests_per_second",
        "rate",
        _LOG,
        r"(?P<semaphore>ULC|Log) Semaphore Requests / (?P<outcome>Granted|(?:Local |Global )?Waited)",
        "Requests for the ULC and log semaphores by outcome: ULC and Log Semaphore Requests.",
    ),
    _headline(
        "spinlock_contention_ratio",
        "ratio",
        _METADATA,
        r"(?:.+ / )?(?P<spinlock>.+) Spinlock Contention",
        "Waits per grab of a spinlock group, 0-1: the Spinlock Contention rows of Metadata Cache and Lock"
        " Management.",
    ),
    _headline(
        "spinlock_contention_ratio",
        "ratio",
        _LOCKS,
        r"(?:Lock Detail / )?(?P<spinlock>.+) / Spinlock Contention",
        "",
    ),
    _headline(
        "lock_requests_per_second",
        "rate",
        _LOCKS,
        r"Lock Summary / Total Lock Requests",
        "Total Lock Requests.",
    ),
    _headline(
        "lock_waits_per_second",
        "rate",
        _LOCKS,
        r"Lock Summary / Avg Lock Contention",
        "Lock requests that had to wait: Avg Lock Contention.",
    ),
    _headline(
        "deadlocks_per_second",
        "rate",
        _LOCKS,
        r"Lock Summary / Deadlock Percentage",
        "Deadlocks: Deadlock Percentage, count column.",
    ),
    _headline(
        "cache_spinlock_contention_ratio",
        "ratio",
        _CACHES,
        r"Cache: (?P<cache>.+) / Spinlock Contention",
        "Waits per grab of a data cache's spinlocks, all partitions, 0-1: Spinlock Contention.",
    ),
    _headline(
        "cache_utilization_ratio",
        "ratio",
        _CACHES,
        r"Cache: (?P<cache>.+) / Utilization",
        "This cache's share of the searches of all caches: Utilization.",
    ),
    _headline(
        "cache_searches_per_second",
        "rate",
        _CACHES,
        r"Cache: (?P<cache>.+) / Cache Searches / Cache (?P<outcome>Hits|Misses)",
        "Searches of a data cache by outcome: Cache Hits, Cache Misses.",
    ),
    _headline(
        "procedure_cache_events_per_second",
        "rate",
        _PROCEDURES,
        r"Procedure (?P<event>.+)",
        "Procedure cache: Procedure Requests, Reads from Disk, Writes to Disk, Removals, Recompilations.",
    ),
    _headline(
        "statement_cache_events_per_second",
        "rate",
        _PROCEDURES,
        r"SQL Statement Cache: / Statements (?P<event>.+)",
        "Statement cache: Statements Cached, Found in Cache, Not Found, Dropped, Restored, Not Cached.",
    ),
    _headline(
        "disk_ios_per_second",
        "rate",
        "Disk I/O Management",
        r"Total Requested Disk I/Os",
        "Disk I/Os requested: Total Requested Disk I/Os.",
    ),
    _headline(
        "device_ios_per_second",
        "rate",
        "Disk I/O Management",
        r"Device Activity Detail / (?P<device>.+) / Total I/Os",
        "Reads and writes of a database device: Device Activity Detail / Total I/Os.",
    ),
    _headline(
        "network_packets_per_second",
        "rate",
        _NETWORK,
        r"(?:.+ / )?Total TDS Packets Rec'd",
        "TDS packets by direction: Total TDS Packets Rec'd and Sent.",
        direction="received",
    ),
    _headline(
        "network_packets_per_second",
        "rate",
        _NETWORK,
        r"(?:.+ / )?Total TDS Packets Sent",
        "",
        direction="sent",
    ),
    _headline(
        "network_bytes_per_second",
        "rate",
        _NETWORK,
        r"(?:.+ / )?Total Bytes Rec'd",
        "Bytes by direction: Total Bytes Rec'd and Sent.",
        direction="received",
    ),
    _headline(
        "network_bytes_per_second", "rate", _NETWORK, r"(?:.+ / )?Total Bytes Sent", "", direction="sent"
    ),
)
