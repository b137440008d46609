"""Every number that a real report shows becomes a cell, and the figures people quote come out."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.paths import SHARED

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.report import reports_of
from ase_exporter.sysmon.structure import Report

FIGURES = load_yaml(Path(__file__).with_name("real_figures.yaml").read_text())
FOLDER = SHARED / "ase" / "sysmon"
FIELD = SHARED / "judges" / "field"
REAL = sorted(path.name for path in FOLDER.glob("real-*.txt"))
pytestmark = pytest.mark.shared


@cache
def parsed(name: str) -> Report:
    return next(reports_of(str(FOLDER / name)))


def real(part: str) -> Report:
    return parsed(next(name for name in REAL if part in name))


@pytest.mark.parametrize("name", REAL)
def test_every_line_of_a_genuine_report_is_known(name: str) -> None:
    report = parsed(name)
    assert (report.contradictions, report.unread) == ([], [])
    assert [text for text in report.missing if not text.startswith("section ")] == []
    assert report.complete == name.startswith("real-16.0")


@pytest.mark.parametrize("name", REAL)
def test_each_figure_is_found_under_a_name_of_its_own(name: str) -> None:
    """Only a quiet device prints its total twice."""
    names = Counter(
        (section.name, *row.path, row.label, cell.measure) for section, row, cell in parsed(name).cells()
    )
    repeated = {figure for figure, count in names.items() if count > 1}
    assert {figure[-2] for figure in repeated} <= {"Total I/Os"}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure['file']} {figure['row']}")
def test_figures_that_people_quote(figure: dict[str, Any]) -> None:
    place = ("file", "section", "row", "path")
    row = real(figure["file"]).find(figure["section"], figure["row"], *figure["path"])
    assert row
    wanted = {measure: value for measure, value in figure.items() if measure not in place}
    assert {measure: row.get(measure) for measure in wanted} == wanted


def test_all_spinlocks_of_the_16_0_sp04_report_are_quoted() -> None:
    rows = [row for section in real("16.0sp04").sections for row in section.rows]
    assert sum("Spinlock Contention" in row.label for row in rows) == 11


def test_a_row_without_a_label_has_decimal_commas_too() -> None:
    report = next(reports_of(str(FIELD / "33-sysmon-comma-unlabelled-row.txt")))
    usage = report.find("Data Cache Management", "Large I/O Usage")
    assert usage and [cell.value for cell in usage.cells] == [0, 0, 0] and not report.unread
