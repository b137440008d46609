"""Metadata Cache Management and Lock Management, with the contention of their spinlocks."""

from ase_simulator.sysmon_report.page import Page
from ase_simulator.sysmon_report.sample import Sample, contention

_METADATA_SPINLOCKS = ("Object Manager", "Object", "Index", "Index Hash", "Partition", "Partition Hash")
_OLD_METADATA_SPINLOCKS = _METADATA_SPINLOCKS[:4]
_TABLE_LOCKS = (
    ("Exclusive Table", "EX-Table Requests", "ex_table"),
    ("Shared Table", "SH-Table Requests", "sh_table"),
    ("Exclusive Intent", "EX-Intent Requests", "ex_intent"),
    ("Shared Intent", "SH-Intent Requests", "sh_intent"),
)
_PARTITION_LOCKS = (
    ("Exclusive Partition", "EX-Partition Reqs", "ex_partition"),
    ("Shared Partition", "SH-Partition Reqs", "sh_partition"),
    ("Exclusive Partition Intent", "EX-Ptn_Intent Reqs", "ex_partition_intent"),
    ("Shared Partition Intent", "SH-Ptn_Intent Reqs", "sh_partition_intent"),
    ("Exclusive Covering Partition Intent", "EX-CPtn_Intent Reqs", "ex_covering_intent"),
    ("Shared Covering Partition Intent", "SH-CPtn_Intent Reqs", "sh_covering_intent"),
)
_PAGE_LOCKS = (
    ("Exclusive Page", "EX-Page Requests", "ex_page"),
    ("Update Page", "UP-Page Requests", "up_page"),
    ("Shared Page", "SH-Page Requests", "sh_page"),
    ("Exclusive Row", "EX-Row Requests", "ex_row"),
    ("Update Row", "UP-Row Requests", "up_row"),
    ("Shared Row", "SH-Row Requests", "sh_row"),
    ("Next-Key", "Next-Key Requests", "next_key"),
)
_ADDRESS_LOCKS = (
    ("Exclusive Address", "EX-Address Requests", "ex_address"),
    ("Shared Address", "SH-Address Requests", "sh_address"),
)
_HEAP_LOCKS = (("Last Page Locks on Heaps", "Last Pg Locks", "last_page"),)
_GROUPS = {
    "table": _TABLE_LOCKS,
    "partition": _PARTITION_LOCKS,
    "page": _PAGE_LOCKS,
    "address": _ADDRESS_LOCKS,
}
"""Lock kinds by hash table: block, name of its total, prefix of its counters."""


def metadata(page: Page, sample: Sample) -> None:
    """Metadata Cache Management; its titles are one column to the left of their figures."""
    with page.section("Metadata Cache Management"):
        page.line()
        page.line("  Metadata Cache Summary         per sec      per xact       count  % of total")
        page.rule(4)
        page.line()
        with page.block("Metadata Cache Summary", show=False):
            for use in sample.descriptors:
                with page.block(f"Open {use.kind} Usage"):
                    page.gauge(4, "Active", use.active)
                    page.gauge(4, "Max Ever Used Since Boot", use.max_used)
                    page.gauge(4, "Free", use.free)
                    with page.block("Reuse Requests", 4):
                        page.gauge(6, "Succeeded", use.reused)
                        page.gauge(6, "Failed", use.failed)
                page.line()
            if sample.threaded:
                page.gauge(2, "Descriptors immediately discarded", 0)
            for name in _METADATA_SPINLOCKS if sample.threaded else _OLD_METADATA_SPINLOCKS:
                page.percent(
                    2, f"{name} Spinlock Contention", contention(*sample.spinlocks.get(name, (0, 0)))
                )
                page.line()


def locks(page: Page, sample: Sample) -> None:
    """Lock Management."""
    kinds = [kind for group in _GROUPS.values() for kind in group]
    requests = sum(_requests(sample, prefix) for _, _, prefix in kinds)
    waits = sum(sample.count(f"{prefix}_waited") for _, _, prefix in kinds)
    with page.section("Lock Management"):
        page.line()
        with page.table("Lock Summary"):
            page.row(2, "Total Lock Requests", requests)
            page.row(2, "Avg Lock Contention", waits, requests)
            if sample.threaded:
                page.row(2, "Cluster Locks Retained", 0, 0)
            page.row(2, "Deadlock Percentage", sample.count("deadlocks"), requests)
        with page.table("Lock Detail"):
            page.line()
            name = "Table & Partition Lock Hashtable" if sample.threaded else "Table Lock Hashtable"
            _hash_table(page, sample, name, "table")
            _kinds(page, sample, _TABLE_LOCKS, requests)
            if sample.threaded:
                _kinds(page, sample, _PARTITION_LOCKS, requests)
            _hash_table(page, sample, "Page & Row Lock HashTable", "page")
            _kinds(page, sample, _PAGE_LOCKS, requests)
            _hash_table(page, sample, "Address Lock Hashtable", "address")
            _kinds(page, sample, _ADDRESS_LOCKS, requests)
            _kinds(page, sample, _HEAP_LOCKS, _requests(sample, "last_page"))
        _deadlocks(page, sample)
        if sample.threaded:
            _cluster(page)


def _requests(sample: Sample, prefix: str) -> int:
    return sample.count(f"{prefix}_granted") + sample.count(f"{prefix}_waited")


def _hash_table(page: Page, sample: Sample, name: str, key: str) -> None:
    lookups = sum(_requests(sample, prefix) for _, _, prefix in _GROUPS[key])
    with page.block(name):
        page.row(4, "Lookups", lookups)
        if lookups:
            page.gauge(4, "Avg Chain Length", sample.count(f"{key}_chain") / lookups, 5)
        page.percent(4, "Spinlock Contention", contention(*sample.spinlocks.get(key, (0, 0))))
    page.line()


def _kinds(page: Page, sample: Sample, kinds: tuple[tuple[str, str, str], ...], everything: int) -> None:
    for block, total, prefix in kinds:
        granted, waited = sample.count(f"{prefix}_granted"), sample.count(f"{prefix}_waited")
        with page.block(block):
            if not granted and not waited:
                page.nothing(4, f"Total {total}")
            else:
                page.row(4, "Granted", granted, granted + waited)
                page.row(4, "Waited", waited, granted + waited)
        if granted or waited:
            page.rule(4)
            page.row(2, f"Total {total}", granted + waited, everything)
        page.line()


def _deadlocks(page: Page, sample: Sample) -> None:
    page.line()
    with page.table("Deadlocks by Lock Type"):
        page.row(2, "Total Deadlocks", sample.count("deadlocks"))
    page.line()
    with page.block("Deadlock Detection"):
        page.row(4, "Deadlock Searches", sample.count("deadlock_searches"))
    page.line()
    page.line()
    with page.block("Lock Promotions"):
        page.row(4, "Total Lock Promotions", sample.count("lock_promotions"))
    page.line()
    page.line()
    with page.table("Lock Timeouts by Lock Type"):
        page.row(2, "Total Timeouts", sample.count("lock_timeouts"))


def _cluster(page: Page) -> None:
    """Sections that only a cluster fills."""
    with page.table("Cluster Lock Summary"):
        pass
    with page.table("Physical Locks Summary"):
        page.line("No physical locks are acquired")
        page.line()
    for name in ("Logical Locks Summary", "Object Locks Summary"):
        with page.table(name):
            pass
