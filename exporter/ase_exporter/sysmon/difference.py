"""Two reports side by side: which figures changed, the biggest changes first."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL, Report, Row

_POINTS_PER_STEP = 20
_PERCENTS = (PERCENT, PERCENT_OF_TOTAL, "user_busy", "system_busy", "cpu_busy", "io_busy", "idle")
_SUMS_OF_PERCENTS = "Summary Total"
_DERIVED = (PER_XACT,)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in both reports; None where only the other one has it."""

    section: str
    name: str
    measure: str
    before: float | None
    after: float | None

    @property
    def in_points(self) -> bool:
        """Whether the figure is a percentage, so that its change is counted in percentage points."""
        return self.measure in _PERCENTS

    @property
    def weight(self) -> float:
        """How much it changed: e-folds of a rate (rates under 1 count little), or steps of 20 points."""
        before, after = self.before or 0.0, self.after or 0.0
        if self.in_points:
            return abs(after - before) / _POINTS_PER_STEP
        return abs(math.log((max(after, 0.0) + 1) / (max(before, 0.0) + 1)))


def changes(before: Report, after: Report) -> list[Change]:
    """All figures that differ, the biggest changes first.

    Rates are compared per second, so samples of different length may be compared; what has no rate by its
    percentage or count.
    """
    old, new = dict(_figures(before)), dict(_figures(after))
    both = [
        Change(*key, old.get(key), new.get(key)) for key in (*old, *(key for key in new if key not in old))
    ]
    changed = [change for change in both if change.before != change.after]
    return sorted(changed, key=lambda change: -change.weight)


def _figures(report: Report) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Section, row and measure of each figure to compare; of figures of one name the first."""
    seen: set[tuple[str, str, str]] = set()
    for section in report.sections:
        title = f"{section.instance}: {section.name}" if section.instance else section.name
        for row in section.rows:
            if row.label.endswith(_SUMS_OF_PERCENTS) and row.get(PER_SEC) is None:
                continue
            name = " / ".join((*row.path, row.label))
            for measure, value in _compared(row):
                key = (title, name, measure)
                if key not in seen:
                    seen.add(key)
                    yield key, value


def _compared(row: Row) -> Iterator[tuple[str, float]]:
    """The rate of a row that has one, else all that it has."""
    rate = row.get(PER_SEC)
    if rate is not None:
        yield PER_SEC, rate
        return
    measures = {cell.measure for cell in row.cells}
    for cell in row.cells:
        if cell.measure not in _DERIVED and not (cell.measure == PERCENT_OF_TOTAL and COUNT in measures):
            yield cell.measure, cell.value
