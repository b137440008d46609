"""Our advice beside a report's: what eases the spinlocks that it shows as contended."""

import re

from ase_exporter.advise.remedies import Remedy, remedies
from ase_exporter.sysmon.structure import PERCENT_OF_TOTAL, Report, Row, Section

# Row or heading of the report -> name of the spinlock in monSpinlockActivity.
_SPINLOCKS = {
    "Object Manager": "Resource->rdesmgr_spin",
    "Object": "Des Upd Spinlocks",
    "Index": "Ides Spinlocks",
    "Index Hash": "Ides Chain Spinlocks",
    "Partition": "Pdes Spinlocks",
    "Partition Hash": "Pdes Chain Spinlocks",
    "Table Lock Hashtable": "tablockspins",
    "Table & Partition Lock Hashtable": "tablockspins",
    "Page & Row Lock HashTable": "fglockspins",
    "Address Lock Hashtable": "addrlockspins",
}
_CACHE = "Cache: "
_CACHE_CLASS = "data_cache"


def advice_for(report: Report) -> list[str]:
    """One sentence for each spinlock whose contention calls for action, by the thresholds of its remedy."""
    found: list[str] = []
    known = remedies()
    for section in report.sections:
        for row in section.rows:
            percent = row.get(PERCENT_OF_TOTAL)
            if not row.label.endswith("Spinlock Contention") or percent is None:
                continue
            name = _name(section, row)
            remedy = known.for_spinlock(
                name, _CACHE_CLASS if row.path[:1] and row.path[0].startswith(_CACHE) else ""
            )
            if remedy and percent / 100 >= remedy.limit:
                found.append(f"{name}: {percent:g} % contention. {_action(remedy)}")
    return found


def _name(section: Section, row: Row) -> str:
    if row.path[:1] and row.path[0].startswith(_CACHE):
        return row.path[0].removeprefix(_CACHE)
    shown = (
        row.path[-1]
        if row.label == "Spinlock Contention"
        else re.sub(r" Spinlock Contention$", "", row.label)
    )
    return _SPINLOCKS.get(shown, shown)


def _action(remedy: Remedy) -> str:
    text = f"It protects {remedy.protects}."
    if remedy.ratio:
        text += f" Lower `{remedy.ratio.option}`."
    if remedy.increase:
        text += f" Raise `{remedy.increase.option}`."
    if remedy.partitions:
        text += " Raise the number of cache partitions, then bind hot tables to caches of their own."
    return " ".join([text, *remedy.cautions[:1]])
