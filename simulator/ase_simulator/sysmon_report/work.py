"""Worker processes, parallel queries, tasks, applications, ESP, housekeeper and monitor access."""

from itertools import groupby

from ase_simulator.sysmon_report.page import Page
from ase_simulator.sysmon_report.sample import Sample

_CAUSES = (
    ("Voluntary Yields", "switch_yield", "15.0.3"),
    ("Cache Search Misses", "switch_cache_miss", "15.0.3"),
    ("Exceeding I/O batch size", "switch_io_batch", "15.0.3"),
    ("System Disk Writes", "switch_disk_write", "15.0.3"),
    ("Logical Lock Contention", "switch_lock", "15.0.3"),
    ("Address Lock Contention", "switch_address_lock", "15.0.3"),
    ("Latch Contention", "switch_latch", "15.0.3"),
    ("Physical Lock Transition", "switch_physical_lock", "15.7"),
    ("Logical Lock Transition", "switch_logical_lock", "15.7"),
    ("Object Lock Transition", "switch_object_lock", "15.7"),
    ("Log Semaphore Contention", "switch_log_semaphore", "15.0.3"),
    ("IMRSLog Semaphore Contention", "switch_imrslog_semaphore", "16.0"),
    ("PLCBLOCK flush", "switch_plcblock", "15.7"),
    ("PLC Lock Contention", "switch_plc_lock", "15.0.3"),
    ("Group Commit Sleeps", "switch_group_commit", "15.0.3"),
    ("Last Log Page Writes", "switch_last_log_page", "15.0.3"),
    ("Modify Conflicts", "switch_modify_conflict", "15.0.3"),
    ("I/O Device Contention", "switch_io_device", "15.0.3"),
    ("Network Packet Received", "switch_received", "15.0.3"),
    ("Network Packet Sent", "switch_sent", "15.0.3"),
    ("Interconnect Message Sleeps", "switch_interconnect", "15.7"),
    ("Network services", "switch_network", "15.0.3"),
)
"""Row, counter and first layout of each cause of a task switch."""

_PRIORITIES = ("High", "Medium", "Low")


def worker_processes(page: Page, sample: Sample) -> None:
    """Worker Process Management."""
    with page.section("Worker Process Management"):
        page.titles()
        for block, rows in (
            ("Worker Process Requests", ("Total Requests",)),
            ("Worker Process Usage", ("Total Used", "Max Ever Used During Sample")),
            ("Memory Requests for Worker Processes", ("Total Requests",)),
        ):
            with page.block(block, 1):
                for row in rows:
                    page.nothing(3, row)
            page.line()


def parallel_queries(page: Page, sample: Sample) -> None:
    """Parallel Query Management."""
    with page.section("Parallel Query Management"):
        page.line()
        for table, row in (
            ("Parallel Query Usage", "Total Parallel Queries"),
            ("Merge Lock Requests", "Total # of Requests"),
            ("Sort Buffer Waits", "Total # of Waits"),
        ):
            with page.table(table):
                page.nothing(2, row)


def tasks(page: Page, sample: Sample) -> None:
    """Task Management: causes of task switches."""
    total = sum(engine.switches for engine in sample.engines)
    with page.section("Task Management", titled=True):
        page.line()
        page.row(2, "Connections Opened", sample.count("connections"))
        page.line()
        with page.block("Task Context Switches by Engine"):
            if sample.threaded:
                _switches_by_pool(page, sample, total)
            else:
                for engine in sample.engines:
                    page.row(4, f"Engine {engine.number}", engine.switches, total)
            if len(sample.engines) > 1:
                page.rule()
                page.row(4, "Total Task Switches:", total, share=False)
        page.line()
        with page.block("Task Context Switches Due To:"):
            known = 0
            for label, name, since in _CAUSES:
                if since <= sample.layout:
                    known += sample.count(name)
                    page.row(4, label, sample.count(name), total)
            page.row(4, "Other Causes", max(total - known, 0), total)
        page.line()
        page.line()


def _switches_by_pool(page: Page, sample: Sample, total: int) -> None:
    page.line()
    for name, group in groupby(
        sorted(sample.engines, key=lambda e: (e.pool, e.number)), key=lambda e: e.pool
    ):
        members = list(group)
        with page.block(f"ThreadPool : {name}"):
            for engine in members:
                page.row(4, f"Engine {engine.number}", engine.switches, total)
            if len(members) > 1:
                switches = sum(engine.switches for engine in members)
                page.rule()
                page.row(2, "Pool Summary        Total", switches, share=False)
                page.row(
                    20, "Average", round(switches / len(members)), share=False, name="Pool Summary Average"
                )
        page.line()


def applications(page: Page, sample: Sample) -> None:
    """Application Management, the summary over all applications."""
    with page.section("Application Management"):
        page.line()
        with page.block("Application Statistics Summary (All Applications)"):
            page.line("  " + "-" * 49)
            changes = [sample.count(f"priority_{name.lower()}") for name in _PRIORITIES]
            _table(
                page,
                "Priority Changes",
                [f"To {n} Priority" for n in _PRIORITIES],
                changes,
                "Total Priority Changes",
            )
            slices = [sample.count(f"slices_{name.lower()}") for name in _PRIORITIES]
            labels = [f"{name} Priority" for name in _PRIORITIES]
            _table(page, "Allotted Slices Exhausted", labels, slices, "Total Slices Exhausted")
            engines = [f"Engine {engine.number}" for engine in sample.engines]
            skips = [engine.skips for engine in sample.engines]
            _table(page, "Skipped Tasks By Engine", engines, skips, "Total Engine Skips")
            page.nothing(2, "Engine Scope Changes")
        page.line()


def _table(page: Page, name: str, labels: list[str], counts: list[int], total: str) -> None:
    """Parts of a total, or only the total if it is zero."""
    with page.table(name):
        if not any(counts):
            page.nothing(2, total)
            return
        for label, count in zip(labels, counts, strict=True):
            page.row(4, label, count, sum(counts))
        page.rule()
        page.row(2, total, sum(counts), share=False)


def esp(page: Page, sample: Sample) -> None:
    """ESP Management."""
    with page.section("ESP Management", titled=True):
        page.nothing(2, "ESP Requests")


def housekeeper(page: Page, sample: Sample) -> None:
    """Housekeeper Task Activity; its rows begin at the margin."""
    clean, dirty = sample.count("wash_clean"), sample.count("wash_dirty")
    with page.section("Housekeeper Task Activity"):
        page.titles(rule=3)
        with page.block("Buffer Cache Washes", 0):
            page.row(2, "Clean", clean, clean + dirty)
            page.row(2, "Dirty", dirty, clean + dirty)
        page.rule(labelled=False)
        page.row(0, "Total Washes", clean + dirty, share=False)
        page.line()
        page.row(0, "Garbage Collections", sample.count("garbage_collections"))
        page.row(0, "Pages Processed in GC", sample.count("garbage_pages"))
        page.line()
        page.row(0, "Statistics Updates", sample.count("statistics_updates"))
        page.line()


def monitor_access(page: Page, sample: Sample) -> None:
    """Monitor Access to Executing SQL; its last label takes two lines."""
    with page.section("Monitor Access to Executing SQL"):
        page.titles()
        page.nothing(1, "Waits on Execution Plans")
        page.row(1, "Number of SQL Text Overflows", sample.count("sql_text_overflows"))
        label, since = "Maximum SQL Text Requested", "(since beginning of sample)"
        page.gauge(1, label, sample.count("sql_text_most"), name=f"{label} {since}")
        page.line(f"  {since}")
        page.line()
        page.line()
