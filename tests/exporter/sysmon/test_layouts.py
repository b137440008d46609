"""A report whose white space was changed gives the same figures, or says that it is not complete."""

import random
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.exporter.sysmon.layouts import KINDS, WHOLE_LINES, third_lost
from tests.exporter.sysmon.simulated import LAYOUTS, simulated_report
from tests.paths import SHARED

from ase_exporter.sysmon.report import NotAReportError, parse, parse_all
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.text import decode

FOLDER = SHARED / "ase" / "sysmon"
REAL = sorted(FOLDER.glob("real-*.txt"))
Figure = tuple[str, tuple[str, ...], str, str, float]


def figures(reports: list[Report]) -> Counter[Figure]:
    return Counter(
        (section.name, row.path, row.label, cell.measure, cell.value)
        for report in reports
        for section, row, cell in report.cells()
    )


@cache
def report_text(name: str) -> str:
    """A real report by its file name, or a simulated one as layout/seed."""
    layout, slash, seed = name.partition("/")
    if not slash:
        return decode((FOLDER / name).read_bytes())
    return simulated_report(next(known for known in LAYOUTS if known == layout), int(seed))


@cache
def original(name: str) -> tuple[Counter[Figure], bool]:
    report = parse(report_text(name))
    return figures([report]), report.complete


def check(name: str, kind: str, seed: int) -> bool:
    """Whether the altered report was read in full. Fails on a wrong figure and on a silent loss."""
    expected, complete = original(name)
    data = KINDS[kind](report_text(name), random.Random(seed))
    try:
        reports = parse_all(decode(data), name)
    except NotAReportError:
        return False
    found = figures(reports)
    assert not found - expected, (name, kind, seed, list((found - expected).items())[:5])
    whole = found == expected
    assert whole or not any(report.complete for report in reports), (name, kind, seed)
    return whole and all(report.complete == complete for report in reports)


@pytest.mark.skipif(not REAL, reason=f"no real reports at {FOLDER}")
@pytest.mark.parametrize("kind", WHOLE_LINES)
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_a_real_report_is_read_in_full_under_every_layout_that_keeps_its_lines(path: Path, kind: str) -> None:
    for seed in range(3):
        assert check(path.name, kind, seed), "the altered report was not read in full"


@pytest.mark.parametrize("kind", WHOLE_LINES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_simulated_report_is_read_in_full_under_every_layout_that_keeps_its_lines(
    layout: str, kind: str
) -> None:
    for seed in range(3):
        assert check(f"{layout}/{seed}", kind, seed), "the altered report was not read in full"


def sources(count: int) -> list[str]:
    return [
        *(path.name for path in REAL),
        *(f"{layout}/{seed}" for layout in LAYOUTS for seed in range(count)),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_no_altered_report_gives_a_wrong_figure_or_a_silent_loss(kind: str) -> None:
    rng = random.Random(kind)
    names = sources(4)
    for seed in range(12):
        check(rng.choice(names), kind, seed)


@pytest.mark.parametrize("name", sources(2))
def test_a_report_without_a_third_of_its_lines_is_not_complete(name: str) -> None:
    for seed in range(3):
        data = third_lost(report_text(name), random.Random(seed))
        assert not any(report.complete for report in parse_all(decode(data), name))


def check_lost_line(name: str, position: int) -> None:
    """A report without one of its lines is not called complete if a figure came under another heading for it."""
    expected, _ = original(name)
    lines = report_text(name).split("\n")
    lost = lines.pop(position)
    if re.fullmatch(r"[\s\d.%na/]*\d[\s\d.%na/]*", lines[position]):
        # Figures without a label take the heading above for one.
        return
    reports = parse_all("\n".join(lines), name)
    wrong = figures(reports) - expected
    assert not (wrong and all(report.complete for report in reports)), (name, position, lost, list(wrong)[:3])


@pytest.mark.parametrize("name", sources(1))
def test_a_report_that_lost_one_line_puts_no_figure_under_another_heading_unsaid(name: str) -> None:
    count = report_text(name).count("\n")
    for position in random.Random(name).sample(range(count), 25):
        check_lost_line(name, position)


HEADINGS = (
    "ThreadPool : syb_default_pool",
    "Bucketpool Activity",
    "Average Runnable Tasks",
    "Exclusive Row",
    "Deletes",
)


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.parametrize("name", sources(1))
def test_a_lost_heading_is_noticed(name: str, heading: str) -> None:
    found = [at for at, line in enumerate(report_text(name).split("\n")) if line.strip().startswith(heading)]
    for position in found:
        check_lost_line(name, position)


@pytest.mark.parametrize("name", sources(1))
def test_an_engine_that_one_table_lost_is_missing(name: str) -> None:
    report = parse(report_text(name))
    rows = [
        row.line
        for row in report.sections[0].rows
        if re.fullmatch(r"Engine [1-9]\d*", row.label) and row.path[0] != "CPU Yields by Engine"
    ]
    for line in rows[:3]:
        lines = report_text(name).split("\n")
        del lines[line - 1]
        assert any("Engine" in missing for missing in parse("\n".join(lines)).missing)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sources(1))
def test_every_line_lost_once(name: str) -> None:
    for position in range(report_text(name).count("\n")):
        check_lost_line(name, position)


@pytest.mark.skipif(not REAL, reason=f"no real reports at {FOLDER}")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_what_the_grammar_requires_is_in_every_real_report(path: Path) -> None:
    missing = parse(report_text(path.name)).missing
    assert [text for text in missing if not text.startswith("section ")] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_altered_reports(kind: str) -> None:
    rng = random.Random(f"{kind} of ten thousand")
    names = sources(20)
    cases = 10_000 // len(KINDS) + 1
    whole = sum(check(rng.choice(names), kind, seed) for seed in range(cases))
    print(f"{kind}: {whole} of {cases} read in full")
    if kind in WHOLE_LINES:
        assert whole == cases
