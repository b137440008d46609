"""The rows of docs/internals/alert-laboratory.md are what the laboratory finds: one wrong page or miss more fails."""

from collections.abc import Sequence

import pytest
from tests.alerts.laboratory.lines import TimeLine, time_lines
from tests.alerts.laboratory.promtool import fired
from tests.alerts.laboratory.score import outcome
from tests.alerts.laboratory.table import PAGE, row
from tests.needs import needs_prometheus

pytestmark = [needs_prometheus, pytest.mark.timeout(3600)]

ROWS = {
    line.split(" | ")[0].removeprefix("| "): line
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ")
}
PUBLISHED = [line for line in time_lines() if line.title in ROWS]
# These run in every build, and take less than a minute of one core.
QUICK = [
    "an engine is lost",
    "a suspect database",
    "a contended cache spinlock",
    "one lock holder blocks thirty tasks",
]


def differences(lines: Sequence[TimeLine]) -> list[tuple[str, str]]:
    """(found, published) of the rows that differ."""
    found = fired(lines)
    rows = {line.title: row(outcome(line, found[line.title])) for line in lines}
    return [(text, ROWS[title]) for title, text in rows.items() if text != ROWS[title]]


def test_some_time_lines_page_as_published() -> None:
    lines = [line for line in PUBLISHED if line.title in QUICK]
    assert len(lines) == len(QUICK)
    assert not differences(lines)


@pytest.mark.slow
def test_all_time_lines_page_as_published() -> None:
    assert not differences(PUBLISHED)
