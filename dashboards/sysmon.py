"""Dashboard of sp_sysmon, which the exporter runs on a schedule: key figures of the report over time."""

from dashboards import thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, Text, TimeSeries
from dashboards.queries import Query, now

NO_SYSMON = "Not collected: sp_sysmon is off (targets: sysmon: in the configuration; needs sa_role)"

HEADLINES: list[Panel] = [
    Stat(
        title="Age of sample (good: under 2 h)",
        description="Time since the last sample of sp_sysmon ended, from which all figures below come. Source: "
        "Sampling Ended at.",
        unit="s",
        queries=[now("max(ase_sysmon_sample_age_seconds{$selector})")],
        thresholds=[(thresholds.PARAMETERS["exporter"]["sysmon_age_seconds"], "orange")],
        empty=NO_SYSMON,
        blank="sp_sysmon is off",
        width=6,
    ),
    Stat(
        title="Last run (good: ok)",
        description="Whether the last run of sp_sysmon returned a sample. ase_sysmon_runs_total counts runs by "
        "outcome.",
        unit="none",
        queries=[now("min(ase_sysmon_last_run_success{$selector})")],
        names={"0": ("failed", "red"), "1": ("ok", "green")},
        empty=NO_SYSMON,
        blank="sp_sysmon is off",
        width=6,
    ),
    Stat(
        title="Sample length",
        description="Duration of the last sample. Source: Sample Interval.",
        unit="s",
        queries=[now("max(ase_sysmon_sample_interval_seconds{$selector})")],
        base="text",
        empty=NO_SYSMON,
        blank="sp_sysmon is off",
        width=6,
    ),
    Stat(
        title="Warnings in the report (good: 0)",
        description="Overflowed or negative figures in the report; treat those with care. Source: the text of "
        "the report.",
        unit="none",
        queries=[now("max(ase_sysmon_sample_warnings{$selector})")],
        thresholds=[(1, "orange")],
        empty=NO_SYSMON,
        blank="sp_sysmon is off",
        width=6,
    ),
]


def _graph(
    title: str,
    description: str,
    unit: str,
    expr: str,
    legend: str,
    lines: tuple[tuple[float, str], ...] = (),
    maximum: float | None = None,
    width: int = 8,
    most: str = "top",
) -> TimeSeries:
    """Return a graph of up to 20 series. most: top or bottom, for those that are shown if there are more."""
    return TimeSeries(
        title=title,
        description=description,
        unit=unit,
        queries=[Query(f"{most}k(20, {expr})", f"{{{{instance}}}} {legend}".strip())],
        thresholds=lines,
        maximum=maximum,
        empty=NO_SYSMON,
        width=width,
    )


PANELS: list[Panel] = [
    *HEADLINES,
    Row("Kernel: CPU and throughput"),
    _graph(
        "Server busy, by state",
        "Average over all engines: user, system, I/O, idle. Source: Server Summary / Average.",
        "percentunit",
        "ase_sysmon_server_busy_ratio{$selector}",
        "{{state}}",
        maximum=1,
    ),
    _graph(
        "Throughput per CPU unit (good: high)",
        "Committed transactions per CPU unit. Source: Throughput (committed xacts per CPU unit).",
        "short",
        "ase_sysmon_throughput_per_cpu_unit{$selector}",
        "",
        most="bottom",
    ),
    _graph(
        "CPU units consumed",
        "CPUs consumed by the server's threads. Source: Adaptive Server threads are consuming … CPU units.",
        "short",
        "ase_sysmon_cpu_units{$selector}",
        "",
    ),
    Row("Spinlocks and caches"),
    _graph(
        "Cache spinlock contention (good: under 10 %)",
        "Spinlock contention of each data cache, as printed in the report. What to do: Spinlock "
        "contention. Source: Data Cache Management / Spinlock Contention.",
        "percentunit",
        "ase_sysmon_cache_spinlock_contention_ratio{$selector}",
        "{{cache}}",
        thresholds.CACHES,
        1,
        width=12,
    ),
    _graph(
        "Other spinlocks (good: under 3 %)",
        "Contention of the spinlocks of metadata cache and lock manager; sp_sysmon shows no others. "
        "Source: Metadata Cache, Lock Management.",
        "percentunit",
        "ase_sysmon_spinlock_contention_ratio{$selector}",
        "{{spinlock}}",
        thresholds.DESCRIPTORS[:1],
        width=12,
    ),
    _graph(
        "Cache searches by outcome (good: hits)",
        "Searches per second of each cache, hits and misses. Source: Cache Hits, Cache Misses.",
        "count:/s",
        "ase_sysmon_cache_searches_per_second{$selector}",
        "{{cache}} {{outcome}}",
        width=24,
    ),
    Row("Tasks, transactions, locks"),
    _graph(
        "Task switches by cause (good: no single cause)",
        "Task context switches by cause, the ten largest. Source: Task Context Switches Due To.",
        "count:/s",
        "ase:sysmon_top_switches:per_second{$selector}",
        "{{cause}}",
        width=12,
    ),
    _graph(
        "ULC flushes by cause (good: end of transaction)",
        "Flushes of user log caches by cause. If many are `full`, raise user log cache size. Source: "
        "ULC Flushes to Xact Log.",
        "count:/s",
        "ase_sysmon_ulc_flushes_per_second{$selector}",
        "{{logging}} {{cause}}",
        width=12,
    ),
    _graph(
        "Committed transactions",
        "Committed transactions per second. Source: Transaction Profile / Committed Xacts.",
        "count:/s",
        "ase_sysmon_committed_transactions_per_second{$selector}",
        "",
    ),
    _graph(
        "Lock waits (good: few)",
        "Lock requests that waited, per second. Source: Lock Management / Avg Lock Contention.",
        "count:/s",
        "ase_sysmon_lock_waits_per_second{$selector}",
        "",
    ),
    _graph(
        "Deadlocks (good: 0)",
        "Deadlocks per second. Source: Lock Management / Deadlock Percentage.",
        "count:/s",
        "ase_sysmon_deadlocks_per_second{$selector}",
        "",
    ),
    _graph(
        "Disk I/Os",
        "Disk I/Os requested per second. Source: Disk I/O Management / Total Requested Disk I/Os.",
        "count:/s",
        "ase_sysmon_disk_ios_per_second{$selector}",
        "",
    ),
    _graph(
        "Network packets by direction",
        "TDS packets per second. Source: Total TDS Packets Rec'd, Total TDS Packets Sent.",
        "count:packets/s",
        "ase_sysmon_network_packets_per_second{$selector}",
        "{{direction}}",
    ),
    _graph(
        "Procedure cache events (good: few reads)",
        "Procedure requests, reads from disk, writes, removals per second. Source: Procedure Cache "
        "Management.",
        "count:/s",
        "ase_sysmon_procedure_cache_events_per_second{$selector}",
        "{{event}}",
    ),
    Text(
        title="Agreement with the other dashboards",
        description="From the documentation of sp_sysmon in this project.",
        content=(
            "Each point is the last sample of `sp_sysmon`, taken with `noclear`, and is repeated until the "
            "next one. The other dashboards use the monitoring tables. Contention and CPU busy of the same "
            "window agree within half a percentage point; sp_sysmon prints one decimal, counts no "
            "compare-and-swap of lockless caches, and shows the spinlocks of caches, metadata and locks "
            "only. `ase-exporter sysmon parse` and `sysmon diff` read reports from files."
        ),
        height=5,
    ),
]

SYSMON = dashboard(
    uid="ase-sysmon",
    title="ASE sp_sysmon",
    description="Key figures of sp_sysmon, which the exporter runs on a schedule without clearing counters.",
    panels=PANELS,
    past="6h",
)
