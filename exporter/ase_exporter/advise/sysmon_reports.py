"""Our advice beside a report's: what eases the spinlocks that it shows as contended."""

from ase_exporter.advise.remedies import Remedy, remedies
from ase_exporter.sysmon.structure import PERCENT_OF_TOTAL, Report, Row

_CACHE, _CONTENTION = "Cache: ", "Spinlock Contention"


def advice_for(report: Report) -> list[str]:
    """One sentence for each spinlock whose contention calls for action, by the thresholds of its remedy."""
    found: list[str] = []
    for row in (row for section in report.sections for row in section.rows):
        percent = row.get(PERCENT_OF_TOTAL)
        if not row.label.endswith(_CONTENTION) or percent is None:
            continue
        name, spinlock_class = _spinlock(row)
        remedy = remedies().for_spinlock(name, spinlock_class)
        if remedy and percent / 100 >= remedy.limit:
            found.append(f"{name}: {percent:g} % contention. {_action(remedy)}")
    return found


def _spinlock(row: Row) -> tuple[str, str]:
    """Name and class of the spinlock that a row is about, as monSpinlockActivity has them."""
    if row.path[:1] and row.path[0].startswith(_CACHE):
        return row.path[0].removeprefix(_CACHE), "data_cache"
    shown = row.path[-1] if row.label == _CONTENTION else row.label.removesuffix(f" {_CONTENTION}")
    return next((each.spinlock for each in remedies().remedies if shown in each.printed), None) or shown, ""


def _action(remedy: Remedy) -> str:
    text = f"It protects {remedy.protects}."
    if remedy.ratio:
        text += f" Lower `{remedy.ratio.option}`."
    if remedy.increase:
        text += f" Raise `{remedy.increase.option}`."
    if remedy.partitions:
        text += " Raise the number of cache partitions, then bind hot tables to caches of their own."
    return " ".join([text, *remedy.cautions[:1]])
