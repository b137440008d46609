"""The shipped rules page in the laboratory as found.json says, with no more wrong pages and misses than are known."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.alerts.laboratory.lines import TimeLine, time_lines
from tests.alerts.laboratory.promtool import fired
from tests.alerts.laboratory.score import Outcome, outcome
from tests.alerts.laboratory.table import PAGE, failures, found, outcomes, page
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

SHIPPED = REPOSITORY / "alerts"
ENGINE = "Prometheus 2.42"
MEASURED = found()
# These run in every build, in about half a minute of one core: short ones, the shortest with lost scrapes as well.
QUICK = [
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
    assert all(count <= most for count, most in zip(failures(measured), LIMITS[engine, slower], strict=True))


@needs_prometheus
@pytest.mark.timeout(900)
def test_short_time_lines_page_as_they_did() -> None:
    assert len(QUICK) >= 20
    assert not differences(QUICK)


@needs_prometheus
@pytest.mark.parametrize(
    ("file", "shipped", "broken"),
    [("cpu", "for: 3m", "for: 6m"), ("server", "> 60 != 3600", "> 6e9 != 3600")],
)
def test_a_broken_rule_is_seen(file: str, shipped: str, broken: str, tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "rules", tmp_path / "rules")
    path = tmp_path / "rules" / f"{file}.alerts.yaml"
    assert shipped in path.read_text()
    path.write_text(path.read_text().replace(shipped, broken))
    lines = [line for line in QUICK if line.title in ("an engine is lost", "a restart with fewer engines")]
    assert len(differences(lines, tmp_path)) == 1


@needs_prometheus
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_time_lines_page_as_they_did() -> None:
    assert not differences([line for line in time_lines() if line.title in MEASURED[ENGINE]])
