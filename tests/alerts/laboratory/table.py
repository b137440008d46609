"""Writes docs/internals/alert-laboratory.md: what each time line pages, how soon, and what is wrong or missed."""

from collections.abc import Iterable

from tests.alerts.laboratory.lines import time_lines
from tests.alerts.laboratory.promtool import fired
from tests.alerts.laboratory.score import Outcome, outcome
from tests.paths import DOCS

PAGE = DOCS / "internals" / "alert-laboratory.md"
HEADER = """\
# The laboratory of alerts

Written by `python -m tests.alerts.laboratory.table`. Each time line of `tests/alerts/laboratory/time_lines.yaml` is
evaluated step by step by promtool 2.42. Minutes are from the event to the page. A time line without a row was
not measured.
"""


def row(found: Outcome) -> str:
    """The row of one time line."""
    pages = ", ".join(f"{alert} {seconds / 60:g}" for alert, seconds in sorted(found.delays.items()))
    return f"| {found.title} | {pages} | {', '.join(found.wrong)} | {', '.join(found.missed)} |"


def page(outcomes: Iterable[Outcome]) -> str:
    """The whole document."""
    found = list(outcomes)
    wrong, missed = (
        sum(len(names) for names in lists)
        for lists in zip(*((each.wrong, each.missed) for each in found), strict=True)
    )
    summary = f"{len(found)} time lines, {wrong} wrong pages, {missed} misses."
    table = ["| time line | pages after minutes | wrong | missed |", "| --- | --- | --- | --- |"]
    return "\n".join([HEADER, summary, "", *table, *map(row, found), ""])


def main() -> None:
    """Measure all time lines, which takes many minutes, and write the page."""
    lines = time_lines()
    found = fired(lines)
    PAGE.write_text(page(outcome(line, found[line.title]) for line in lines))


if __name__ == "__main__":
    main()
