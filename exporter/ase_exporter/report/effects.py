"""The changes of a period, and the effect of each, before against after."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import EFFICIENCY, Comparison, ComparisonRow, compare_windows
from ase_exporter.compare.marks import with_restarts
from ase_exporter.compare.measures import LOAD
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import windows_around
from ase_exporter.compare.view import changed_rows
from ase_exporter.compare.windows import groups_of_changes
from ase_exporter.errors import UserError
from ase_exporter.report.period import Period

# Each costs about thirty queries over an hour or so.
MAX_JUDGED = 20
# Scrapes that a window must hold, so that it has samples enough for a verdict.
SCRAPES = 13
# Seconds that are left out after a change, and those before and after it that are compared.
SETTLE, LENGTH = 60.0, 1800.0
MEASURES = (EFFICIENCY, "cpu_busy", "cache_contention", "spinlock_contention", LOAD, "spin_share")

Outcome = Literal["better", "worse", "mixed", "no evidence", "not judged"]


@dataclass(frozen=True, slots=True)
class Effect:
    """Changes that nothing separates, in order of time, and what they did.

    comparison: None if it was not possible; `reason` says why.
    """

    marks: tuple[Change, ...]
    comparison: Comparison | None = None
    reason: str = ""

    @property
    def at(self) -> float:
        return self.marks[-1].at

    @property
    def outcome(self) -> Outcome:
        """The verdict on throughput per CPU unit; without evidence there, that on the other measures together."""
        if self.comparison is None:
            return "not judged"
        verdicts = {row.verdict for row in self.judged if row.key == EFFICIENCY} - {"certain but small"}
        verdicts = verdicts or {row.verdict for row in self.judged if row.key != LOAD}
        if {"better", "worse"} <= verdicts:
            return "mixed"
        return "better" if "better" in verdicts else "worse" if "worse" in verdicts else "no evidence"

    @property
    def judged(self) -> list[ComparisonRow]:
        """The measures that changed beyond chance, throughput per CPU unit first, then by the size of the change."""
        return changed_rows(self.comparison)[0] if self.comparison else []


def read_changes(server: Prometheus, selector: str, period: Period, scrape: float) -> list[Change]:
    """All changes and restarts of a period, in order of time. scrape: seconds between scrapes."""
    found = with_restarts(server, selector, period.start, period.end, period.now)
    # A server that was started with the period has nothing before it to compare with.
    return [mark for mark in found if mark.at > period.start + scrape]


def judge(
    server: Prometheus, selector: str, marks: Sequence[Change], now: float, scrape: float
) -> list[Effect]:
    """The effect of each group of changes, in order of time; of the last MAX_JUDGED groups.

    scrape: seconds between scrapes. What is harmless is left out.
    """
    relevant = [mark for mark in marks if not mark.is_harmless]
    groups = groups_of_changes(relevant, SETTLE)
    length = max(LENGTH, SCRAPES * scrape)
    found = []
    for later, group in zip(reversed(range(len(groups))), groups, strict=True):
        comparison, reason = None, f"only the last {MAX_JUDGED} are judged"
        if later < MAX_JUDGED:
            try:
                near, spans = windows_around(
                    server, selector, group[-1], marks, now, length=length, settle=SETTLE
                )
                comparison = compare_windows(server, selector, spans, keys=MEASURES, marks=near)
            except UserError as error:
                # Without what to do about it.
                reason = str(error).partition(";")[0]
        found.append(Effect(tuple(group), comparison, reason))
    return found
