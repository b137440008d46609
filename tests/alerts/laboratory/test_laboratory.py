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
# A sample of short time lines, most of which are hard by what is lost or seen twice. They run in every build.
SAMPLE = {
    "30000 of 50000 grabs of default data cache wait, until 695s",
    "72000 of 120000 grabs of Ides Spinlocks wait",
    "a contended cache spinlock where three scrapes in four are lost",
    "a contended cache spinlock, every twelfth scrape lost",
    "a link of the interconnect is down for a scrape",
    "a login fails each second",
    "a restart with fewer engines",
    "a spinlock contended for 90 s in two minutes",
    "a suspect database where one scrape in four is lost",
    "all four servers of a job lose their exporter",
    "an engine is lost",
    "one lock holder blocks thirty tasks",
    "two replicas scrape one server",
    "two replicas with dump intervals scrape one server",
}
LINES = [line for line in time_lines() if line.title in SAMPLE]


def faults(lines: Sequence[TimeLine], rules: Path = SHIPPED) -> dict[str, str]:
    """Title of a time line -> wrong pages and misses."""
    found = fired(lines, rules)
    said = {line.title: outcome(line, found[line.title]) for line in lines}
    return {title: text for title, text in said.items() if text}


def known(lines: Sequence[TimeLine]) -> dict[str, str]:
    titles = {line.title for line in lines}
    return {title: text for title, text in known_faults().items() if title in titles}


@pytest.mark.timeout(900)
def test_a_sample_of_time_lines_pages_as_it_should() -> None:
    assert {line.title for line in LINES} == SAMPLE
    assert faults(LINES) == known(LINES)


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
    found = faults([line for line in LINES if line.title in BROKEN], tmp_path)
    assert found == {title: wrong for title, (*_, wrong) in BROKEN.items()}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_time_lines_page_as_they_should() -> None:
    lines = time_lines()
    assert known_faults().keys() <= {line.title for line in lines}
    assert len(known_faults()) * 50 <= len(lines)
    assert faults(lines) == known_faults()
