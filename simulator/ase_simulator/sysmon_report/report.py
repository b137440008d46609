"""A whole report: header, the sections in their order, the end line."""

from collections.abc import Callable
from datetime import datetime

from ase_simulator.sysmon_report import caches, kernel, locks, storage, transactions, work
from ase_simulator.sysmon_report.page import RULE, Page
from ase_simulator.sysmon_report.sample import Sample

END = "=============================== End of Report ================================= "
_KEY = 23
_VALUE = 56
_OLD_VALUE = 55

Writer = Callable[[Page, Sample], None]

SECTIONS: dict[str, Writer] = {
    "kernel": kernel.kernel,
    "wpm": work.worker_processes,
    "parallel": work.parallel_queries,
    "taskmgmt": work.tasks,
    "appmgmt": work.applications,
    "esp": work.esp,
    "housekeeper": work.housekeeper,
    "monaccess": work.monitor_access,
    "xactsum": transactions.profile,
    "xactmgmt": transactions.management,
    "indexmgmt": transactions.indexes,
    "mdcache": locks.metadata,
    "locks": locks.locks,
    "dcache": caches.data_caches,
    "nvcache": caches.nv_caches,
    "pcache": caches.procedures,
    "memory": caches.memory,
    "recovery": storage.recovery,
    "diskio": storage.disks,
    "netio": storage.network,
}
"""Section keywords in the order of a whole report; nvcache is no keyword of its own, it comes with dcache."""


def write(sample: Sample, section: str | None = None) -> Page:
    """A report of all sections, or of one."""
    page = Page(sample.elapsed_ms, sample.transactions)
    _header(page, sample)
    for keyword, writer in SECTIONS.items():
        belongs = keyword in (section or keyword, "nvcache" if section == "dcache" else None)
        if belongs and (sample.sixteen or keyword != "nvcache"):
            writer(page, sample)
    page.line(END)
    return page


def _header(page: Page, sample: Sample) -> None:
    page.line(RULE)
    page.line("      Sybase Adaptive Server Enterprise System Performance Report")
    page.line(RULE)
    page.line()
    version = sample.version
    if sample.threaded:
        pieces = [version[start : start + _VALUE] for start in range(0, max(len(version), 1), _VALUE)]
    else:
        pieces = [version[:_OLD_VALUE]]
    name = _entry("Server Name", sample.server)
    page.line(_entry("Server Version", pieces[0]))
    for piece in pieces[1:]:
        page.line(" " * _KEY + piece)
    if not sample.threaded:
        page.line(name)
    page.line(_entry("Run Date", _date(sample.ended)))
    page.line(_entry("Sampling Started at", _moment(sample.started)))
    page.line(_entry("Sampling Ended at", _moment(sample.ended)))
    hours, rest = divmod(sample.interval_s, 3600)
    page.line(_entry("Sample Interval", f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"))
    page.line(_entry("Sample Mode", "No Clear" if sample.cleared else "Reset Counters"))
    if sample.cleared:
        page.line(_entry("Counters Last Cleared", _moment(sample.cleared)))
    if sample.threaded:
        page.line(name)
    else:
        page.line()
    page.line(RULE)
    page.line()


def _entry(key: str, value: str) -> str:
    return f"{key + ':':<{_KEY}}{value}"


def _date(moment: datetime) -> str:
    return f"{moment:%b %d, %Y}"


def _moment(moment: datetime) -> str:
    return f"{moment:%b %d, %Y %H:%M:%S}"
