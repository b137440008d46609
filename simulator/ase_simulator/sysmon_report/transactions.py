"""Transaction Profile, Transaction Management and Index Management."""

from collections.abc import Sequence

from ase_simulator.sysmon_report.page import Page
from ase_simulator.sysmon_report.sample import Sample

_INSERTS = ("APL Heap Table", "APL Clustered Table", "Data Only Lock Table", "Fast Bulk Insert")
_UPDATES = (
    "APL Deferred",
    "APL Direct In-place",
    "APL Direct Cheap",
    "APL Direct Expensive",
    "DOL Deferred",
    "DOL Direct",
)
_DOL_UPDATES = (
    "DOL Replace",
    "DOL Shrink",
    "DOL Cheap Expand",
    "DOL Expensive Expand",
    "DOL Expand & Forward",
    "DOL Fwd Row Returned",
)
_DELETES = ("APL Deferred", "APL Direct", "DOL")
_LOGGING = ("Fully Logged", "Minimally Logged")
_NEVER_MINIMAL = ("Fast Bulk Insert", "Fast Log Bulk Insert", "APL Deferred", "DOL Deferred")
_DETAILS = (
    ("Inserts", "insert", _INSERTS, "Total Rows Inserted"),
    ("Updates", "update", _UPDATES, "Total Rows Updated"),
    ("Data Only Locked Updates", "dol_update", _DOL_UPDATES, "Total DOL Rows Updated"),
    ("Deletes", "delete", _DELETES, "Total Rows Deleted"),
)
"""Block, prefix of its counters, its rows, and the row of its total."""

_FLUSHES = (
    (
        "Any Logging Mode DMLs",
        ("End Transaction", "Change of Database", "Unpin", "Log markers", "No Free Plcblock"),
    ),
    ("Fully Logged DMLs", ("Full ULC", "Single Log Record")),
    (
        "Minimally Logged DMLs",
        ("Full ULC", "Single Log Record", "Start of Sub-Command", "End of Sub-Command"),
    ),
)
_OLD_FLUSHES = ("Full ULC", "End Transaction", "Change of Database", "Single Log Record", "Unpin", "Other")


def counter(prefix: str, label: str, logging: str = "") -> str:
    """The name of the counter behind a row: 'insert_data_only_lock_table'."""
    words = f"{prefix} {'minimal ' if logging.startswith('Minimally') else ''}{label}".lower()
    return "_".join("".join(c if c.isalnum() else " " for c in words).split())


def profile(page: Page, sample: Sample) -> None:
    """Transaction Profile."""
    with page.section("Transaction Profile"):
        page.line()
        with page.table("Transaction Summary"):
            page.row(4, "Committed Xacts", sample.transactions, xact=False)
        totals = [_rows_of(sample, prefix, labels) for _, prefix, labels, _ in _DETAILS]
        inserted, updated, _, deleted = totals
        affected = inserted + updated + deleted
        indent = 2 if sample.threaded else 4
        with page.table("Transaction Detail"):
            for (block, prefix, labels, total), count in zip(_DETAILS, totals, strict=True):
                _detail(page, sample, block, prefix, labels, total, count, affected)
                page.line()
            if sample.threaded:
                with page.block("Selects"):
                    selects = sample.count("selects")
                    page.row(4, "Total Rows Selected", selects, selects)
                page.line()
            rule = "  =========================  ============  ============  =========="
            page.line(rule)
            page.row(indent, "Total Rows Affected", affected, share=False)
            if sample.threaded:
                page.line(rule)


def _rows(sample: Sample, labels: Sequence[str], logging: str) -> list[str]:
    if not sample.threaded:
        return list(labels)
    more = ["Fast Log Bulk Insert"] if labels is _INSERTS else []
    return [label for label in [*labels, *more] if logging == _LOGGING[0] or label not in _NEVER_MINIMAL]


def _rows_of(sample: Sample, prefix: str, labels: Sequence[str]) -> int:
    modes = _LOGGING if sample.threaded else _LOGGING[:1]
    return sum(
        sample.count(counter(prefix, row, mode)) for mode in modes for row in _rows(sample, labels, mode)
    )


def _detail(
    page: Page,
    sample: Sample,
    block: str,
    prefix: str,
    labels: Sequence[str],
    total: str,
    count: int,
    affected: int,
) -> None:
    indent = 2 if sample.threaded else 4
    with page.block(block, indent):
        if not count:
            page.nothing(indent + 2, "Total Rows Updated" if "Updates" in block else total)
        elif sample.threaded:
            for logging in _LOGGING:
                with page.block(logging, 4):
                    for label in _rows(sample, labels, logging):
                        page.row(6, label, sample.count(counter(prefix, label, logging)), count)
        else:
            for label in labels:
                page.row(6, label, sample.count(counter(prefix, label)), count)
    page.rule(4)
    page.row(indent, total, count, affected)


def management(page: Page, sample: Sample) -> None:
    """Transaction Management: user log caches and semaphores."""
    with page.section("Transaction Management"):
        page.line()
        if sample.threaded:
            _flushes(page, sample)
        else:
            _old_flushes(page, sample)
        _semaphore(
            page, "ULC", [("Granted", sample.count("ulc_granted")), ("Waited", sample.count("ulc_waited"))]
        )
        waited = [("Waited", sample.count("log_waited"))]
        if sample.threaded:
            waited = [("Local Waited", sample.count("log_waited")), ("Global Waited", 0)]
        _semaphore(page, "Log", [("Granted", sample.count("log_granted")), *waited])
        page.row(2, "Transaction Log Writes", sample.count("log_writes"))
        page.row(2, "Transaction Log Alloc", sample.count("log_allocations"))
        page.gauge(
            2,
            "Avg # Writes per Log Page",
            sample.count("log_writes") / (sample.count("log_allocations") or 1),
            5,
        )
        page.line()


def _flushes(page: Page, sample: Sample) -> None:
    counts = {
        (block, cause): sample.count(counter("ulc", cause, block))
        for block, causes in _FLUSHES
        for cause in causes
        if sample.sixteen or cause != "No Free Plcblock"
    }
    with page.table("ULC Flushes to Xact Log"):
        for block, causes in _FLUSHES:
            with page.block(block):
                for cause in causes:
                    if (block, cause) in counts:
                        page.row(4, f"by {cause}", counts[block, cause], sum(counts.values()))
            if block != _FLUSHES[-1][0]:
                page.line()
        page.rule()
        page.row(2, "Total ULC Flushes", sum(counts.values()), share=False)
    discards = [sample.count("ulc_discards"), 0]
    with page.table("ULC Flushes Skipped"):
        for (block, _), count in zip(_FLUSHES[1:], discards, strict=True):
            with page.block(block):
                page.row(4, "by ULC Discards", count, sum(discards))
        page.rule()
        page.row(2, "Total ULC Flushes Skips", sum(discards), share=False)
    _log_records(page, sample)
    with page.block("Max ULC Size During Sample"):
        page.line("  " + "-" * 26)
        page.gauge(2, "Fully Logged DMLs", sample.count("ulc_most"))
        page.gauge(2, "Minimally Logged DMLs", 0)
    page.line()
    for table, row in (
        ("ML-DMLs Sub-Command Scans", "Total Sub-Command Scans"),
        ("ML-DMLs ULC Efficiency", "Total ML-DML Sub-Commands"),
    ):
        with page.table(table):
            page.nothing(2, row)


def _log_records(page: Page, sample: Sample) -> None:
    """These percentages come without their sign."""
    records = sample.count("log_records")
    with page.table("ULC Log Records"):
        for label, count in (("Fully Logged DMLs", records), ("Minimally Logged DMLs", 0)):
            page.row(2, label, count, share=False)
            share = "100.0" if count else "0.0"
            page.lines[-1] = page.lines[-1] + share.rjust(79 - len(page.lines[-1]))
            page.record(label, "percent_of_total", share)
        page.rule()
        page.row(2, "Total ULC Log Records", records, share=False)


def _old_flushes(page: Page, sample: Sample) -> None:
    counts = [sample.count(counter("ulc", cause)) for cause in _OLD_FLUSHES]
    with page.table("ULC Flushes to Xact Log"):
        for cause, count in zip(_OLD_FLUSHES, counts, strict=True):
            page.row(4, f"by {cause}", count, sum(counts))
        page.rule()
        page.row(2, "Total ULC Flushes", sum(counts), share=False)
    with page.table("ULC Flushes Skipped"):
        page.row(4, "by PLC Discards", sample.count("ulc_discards"), sample.count("ulc_discards"))
        page.rule()
        page.row(2, "Total ULC Discards", sample.count("ulc_discards"), share=False)
    page.row(2, "ULC Log Records", sample.count("log_records"))
    page.gauge(2, "Max ULC Size During Sample", sample.count("ulc_most"))
    page.line()


def _semaphore(page: Page, name: str, outcomes: list[tuple[str, int]]) -> None:
    total = sum(count for _, count in outcomes)
    with page.block(f"{name} Semaphore Requests"):
        for label, count in outcomes:
            page.row(4, label, count, total)
    page.rule()
    page.row(2, f"Total {name} Semaphore Req", total, share=False)
    page.line()


def indexes(page: Page, sample: Sample) -> None:
    """Index Management."""
    maintained = sample.count("index_maintenance")
    with page.section("Index Management"):
        page.line()
        with page.table("Nonclustered Maintenance"):
            for label in ("Ins/Upd Requiring Maint", "Deletes Requiring Maint", "RID Upd from Clust Split"):
                page.nothing(4, label)
                with page.block(label, show=False):
                    page.nothing(6, "# of NC Ndx Maint")
                page.line()
            page.row(4, "Upd/Del DOL Req Maint", sample.count("dol_maintenance"))
            with page.block("Upd/Del DOL Req Maint", show=False):
                page.row(6, "# of DOL Ndx Maint", maintained)
                page.gauge(
                    6, "Avg DOL Ndx Maint / Op", maintained / (sample.count("dol_maintenance") or 1), 5
                )
        splits = sample.count("page_splits")
        page.row(2, "Page Splits", splits)
        if splits:
            with page.block("Page Splits", show=False):
                for label in ("Retries", "Deadlocks", "Add Index Level"):
                    page.row(4, label, 0, splits)
        page.line()
        page.nothing(2, "Page Shrinks")
        page.line()
        labels = ("Ascending Scans", "DOL Ascending Scans", "Descending Scans", "DOL Descending Scans")
        counts = [sample.count(counter("scan", label)) for label in labels]
        with page.table("Index Scans"):
            for label, count in zip(labels, counts, strict=True):
                page.row(4, label, count, sum(counts))
            page.rule(labelled=False)
            page.row(4, "Total Scans", sum(counts), share=False)
