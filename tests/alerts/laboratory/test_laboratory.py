"""The shipped rules page in the laboratory as found.json says, with no more wrong pages and misses than are known."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.alerts.laboratory.lines import TimeLine, time_lines
from tests.alerts.laboratory.promtool import fired
from tests.alerts.laboratory.score import Outcome, outcome
from tests.alerts.laboratory.table import PAGE, found, outcomes, page
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

SHIPPED = REPOSITORY / "alerts" / "rules"
ENGINE = "Prometheus 2.42"
MEASURED = found()
# Short time lines, the shortest with lost scrapes as well. They run in every build: half a minute of one core.
SHORT = [
    line
    for line in time_lines()
    if line.family == "hours"
    and line.lasts <= {"": 45 * 60, "every twelfth scrape lost": 30 * 60}.get(line.variation, 0)
]


def differences(lines: Sequence[TimeLine], rules: Path = SHIPPED) -> dict[str, tuple[Outcome, Outcome]]:
    """What is found now, and what was published, where a page, a miss or a time to page differs."""
    now, before = fired(lines, rules), MEASURED[ENGINE]
    found = {
        line.title: (outcome(line, now[line.title]), outcome(line, before[line.title])) for line in lines
    }
    return {title: pair for title, pair in found.items() if not _alike(*pair)}


def _alike(now: Outcome, before: Outcome) -> bool:
    # Groups of rules may be evaluated in another order, which moves an alert by an evaluation.
    return (now.wrong, now.missed, now.delays.keys()) == (
        before.wrong,
        before.missed,
        before.delays.keys(),
    ) and all(abs(delay - before.delays[alert]) <= 60 for alert, delay in now.delays.items())


def test_the_page_says_what_was_found() -> None:
    assert PAGE.read_text() == page(MEASURED), "python -m tests.alerts.laboratory.table"


# At most how many wrong pages and misses; by the rules for longer intervals, too.
LIMITS = {(engine, ""): (4, 4) for engine in MEASURED} | {
    (ENGINE, "minute"): (1, 0),
    (ENGINE, "five minutes"): (2, 3),
}


@pytest.mark.parametrize(("engine", "slower"), LIMITS)
def test_wrong_pages_and_misses_are_few(engine: str, slower: str) -> None:
    measured = outcomes(MEASURED[engine], slower)
    assert len(measured) >= (60 if slower else 150)
    wrong, missed = LIMITS[engine, slower]
    assert sum(each.wrong_pages for each in measured) <= wrong
    assert sum(each.misses for each in measured) <= missed


@needs_prometheus
@pytest.mark.timeout(900)
def test_short_time_lines_page_as_they_did() -> None:
    assert len(SHORT) >= 30
    assert not differences(SHORT)


# Title of a time line -> the rules that page in it, and how they are broken.
BROKEN = {
    "an engine is lost": ("cpu", "for: 3m", "for: 6m"),
    "a restart with fewer engines": ("server", "> 60 != 3600", "> 6e9 != 3600"),
}


@needs_prometheus
def test_broken_rules_are_seen(tmp_path: Path) -> None:
    for path in SHIPPED.glob("*.rules.yaml"):
        shutil.copy(path, tmp_path)
    for file, shipped, broken in BROKEN.values():
        text = (SHIPPED / f"{file}.alerts.yaml").read_text()
        assert shipped in text
        (tmp_path / f"{file}.alerts.yaml").write_text(text.replace(shipped, broken))
    assert differences([line for line in SHORT if line.title in BROKEN], tmp_path).keys() == BROKEN.keys()


@needs_prometheus
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_time_lines_page_as_they_did() -> None:
    assert not differences([line for line in time_lines() if line.title in MEASURED[ENGINE]])
