"""Every number that a real report shows becomes a cell, and the figures people quote come out."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.sysmon.test_alterations import FOLDER, REAL, parsed

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.structure import Report

FIGURES = load_yaml(Path(__file__).with_name("real_figures.yaml").read_text())
pytestmark = pytest.mark.skipif(not REAL, reason=f"no real reports at {FOLDER}")


def real(part: str) -> Report:
    return parsed(next(name for name in REAL if part in name))


@pytest.mark.parametrize("name", REAL)
def test_a_genuine_report_contradicts_itself_nowhere(name: str) -> None:
    report = parsed(name)
    assert (report.contradictions, report.unplaced, report.lost) == ([], [], 0)
    assert [text for text in report.missing if not text.startswith("section ")] == []


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


def test_header_of_a_wrapped_version_and_the_cluster_layout() -> None:
    header = real("15.7sp139").header
    assert header.server == "server_name_1"
    assert header.version.startswith(
        "Adaptive Server Enterprise/15.7/EBF 27856 Cluster Edition SP139  ONE-OFF/"
    )
    assert header.mode == "No Clear"
    assert header.interval is not None and header.interval.total_seconds() == 5


def test_the_15_0_3_report_is_cut() -> None:
    report = real("15.0.3")
    assert report.header.version == "Adaptive Server Enterprise/15.0.3/EBF 16548 ESD#1/P/Sun_"
    assert len(report.sections) == 18 and not report.complete
