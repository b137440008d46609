"""The shipped rules page in each time line as it wants, but for the faults that time_lines.yaml knows."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.alerts.laboratory.lines import TimeLine, known_faults, time_lines
from tests.alerts.laboratory.promtool import SHIPPED, fired
from tests.alerts.laboratory.score import outcome
from tests.needs import needs_prometheus

pytestmark = [pytest.mark.e2e, needs_prometheus]
# Short time lines, the shortest with lost scrapes as well. They run in every build: half a minute of one core.
SHORT = [
    line
    for line in time_lines()
    if line.family == "hours"
    and line.lasts <= {"": 45 * 60, "every twelfth scrape lost": 30 * 60}.get(line.variation, 0)
]


def faults(lines: Sequence[TimeLine], rules: Path = SHIPPED) -> dict[str, str]:
    """Title of a time line -> wrong pages and misses."""
    found = fired(lines, rules)
    said = {line.title: str(outcome(line, found[line.title])) for line in lines}
    return {title: text for title, text in said.items() if text}


def known(lines: Sequence[TimeLine]) -> dict[str, str]:
    titles = {line.title for line in lines}
    return {title: text for title, text in known_faults().items() if title in titles}


@pytest.mark.timeout(900)
def test_short_time_lines_page_as_they_should() -> None:
    assert len(SHORT) >= 30
    assert faults(SHORT) == known(SHORT)


# Title of a time line -> the rules that page in it, how they are broken, and what is wrong then.
BROKEN = {
    "an engine is lost": ("cpu", "for: 3m", "for: 6m", "no AseEngineLost"),
    "a restart with fewer engines": ("server", "> 60 != 3600", "> 6e9 != 3600", "no AseRestarted"),
}


def test_broken_rules_are_seen(tmp_path: Path) -> None:
    for path in SHIPPED.glob("*.rules.yaml"):
        shutil.copy(path, tmp_path)
    for file, shipped, broken, _ in BROKEN.values():
        text = (SHIPPED / f"{file}.alerts.yaml").read_text()
        assert shipped in text
        (tmp_path / f"{file}.alerts.yaml").write_text(text.replace(shipped, broken))
    found = faults([line for line in SHORT if line.title in BROKEN], tmp_path)
    assert found == {title: wrong for title, (*_, wrong) in BROKEN.items()}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_time_lines_page_as_they_should() -> None:
    lines = time_lines()
    assert known_faults().keys() <= {line.title for line in lines}
    assert faults(lines) == known_faults()
