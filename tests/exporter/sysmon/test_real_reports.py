"""Every number that a real report shows becomes a cell, and the figures people quote come out."""

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.paths import SHARED

from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.text import decode

FOLDER = SHARED / "ase" / "sysmon"
REPORTS = sorted(FOLDER.glob("real-*.txt"))
MAX_UNEXPLAINED = 0.005

_NUMBER = re.compile(r"(?<![\w./:,-])-?\d+(?:\.\d+)?(?![\w./:,-])")
_EXPLANATIONS = {
    "header": re.compile(r"^(?:Server Version|Run Date|Sampl\w+|Counters Last Cleared|Server Name)|^ {23}\S"),
    "client": re.compile(r"^\(return status|^\d+> "),
    "engine, thread or pool number in a label": re.compile(
        r"^\s*(?:Engine \d+|Thread \d+ +\(\w+ ?\w* ?\d*\)|\d+ +Kb Pool)"
    ),
    "column title": re.compile(r"1 min +5 min +15 min"),
}


def real(part: str) -> Report:
    if not REPORTS:
        pytest.skip(f"no real reports at {FOLDER}")
    return parse(decode(next(path for path in REPORTS if part in path.name).read_bytes()))


def explained(line: str, start: int, text: str) -> str | None:
    """Why a number is no figure of the sample, None where that is not known."""
    for reason, pattern in _EXPLANATIONS.items():
        match = pattern.search(line)
        if match and (reason in ("header", "client") or start < match.end()):
            return reason
    return None


@pytest.mark.skipif(not REPORTS, reason=f"no real reports at {FOLDER}")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_every_number_of_the_text_is_a_cell_or_has_an_explanation(path: Path) -> None:
    text = decode(path.read_bytes())
    cells = Counter((row.line, cell.column, float(cell.text)) for _, row, cell in parse(text).cells())
    unexplained, numbers = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        wide = line.expandtabs(8)
        for match in _NUMBER.finditer(wide):
            key = (number, match.start(), float(match[0]))
            numbers += 1
            if cells[key]:
                cells[key] -= 1
            elif not explained(wide, match.start(), match[0]):
                unexplained.append((number, match[0], wide.strip()))
    assert numbers > 500
    assert len(unexplained) / numbers < MAX_UNEXPLAINED, unexplained
    assert not +cells, "cells that the text does not show"


@pytest.mark.skipif(not REPORTS, reason=f"no real reports at {FOLDER}")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_each_figure_is_found_under_a_name_of_its_own(path: Path) -> None:
    """Only a quiet device prints its total twice."""
    report = parse(decode(path.read_bytes()))
    names = Counter(
        (section.name, *row.path, row.label, cell.measure) for section, row, cell in report.cells()
    )
    repeated = {name for name, count in names.items() if count > 1}
    assert {name[-2] for name in repeated} <= {"Total I/Os"}


def test_cpu_figures_of_the_16_0_sp04_report() -> None:
    report = real("16.0sp04")
    kernel = "Kernel Utilization"
    average = report.find(
        kernel, "Pool Summary Average", "Engine Utilization (Tick %)", "ThreadPool : syb_default_pool"
    )
    server = report.find(kernel, "Server Summary Average", "Engine Utilization (Tick %)")
    units = report.find(kernel, "Adaptive Server threads are consuming")
    throughput = report.find(kernel, "Throughput (committed xacts per CPU unit)")
    assert average and (average.get("user_busy"), average.get("system_busy")) == (26.2, 1.2)
    assert server and (server.get("io_busy"), server.get("idle")) == (0.0, 72.6)
    assert units and units.get("cpu_units") == 2.3
    assert throughput and throughput.get("value") == 548.6


def test_contention_of_the_16_0_sp04_report() -> None:
    report = real("16.0sp04")
    found = {
        (*row.path, row.label): row.get("percent_of_total")
        for section in report.sections
        for row in section.rows
        if "Spinlock Contention" in row.label
    }
    assert found == {
        ("Metadata Cache Summary", "Object Manager Spinlock Contention"): 0.4,
        ("Metadata Cache Summary", "Object Spinlock Contention"): 0.2,
        ("Metadata Cache Summary", "Index Spinlock Contention"): 0.0,
        ("Metadata Cache Summary", "Index Hash Spinlock Contention"): 0.0,
        ("Metadata Cache Summary", "Partition Spinlock Contention"): 0.0,
        ("Metadata Cache Summary", "Partition Hash Spinlock Contention"): 0.0,
        ("Lock Detail", "Table & Partition Lock Hashtable", "Spinlock Contention"): 1.0,
        ("Lock Detail", "Page & Row Lock HashTable", "Spinlock Contention"): 1.0,
        ("Lock Detail", "Address Lock Hashtable", "Spinlock Contention"): 0.0,
        ("Cache: default data cache", "Spinlock Contention"): 1.5,
        ("Cache: User Defined NV Cache", "Spinlock Contention"): 0.0,
    }


def test_header_of_a_wrapped_version_and_the_cluster_layout() -> None:
    header = real("15.7sp139").header
    assert header.server == "server_name_1"
    assert header.version.startswith(
        "Adaptive Server Enterprise/15.7/EBF 27856 Cluster Edition SP139  ONE-OFF/"
    )
    assert header.mode == "No Clear"
    assert header.interval is not None and header.interval.total_seconds() == 5


def test_process_kernel_of_the_15_0_3_report() -> None:
    report = real("15.0.3")
    average = report.find("Kernel Utilization", "Summary Average", "Engine Busy Utilization")
    assert average and average.get("cpu_busy") == 0.3 and average.get("io_busy") == 4.0
    assert report.header.version == "Adaptive Server Enterprise/15.0.3/EBF 16548 ESD#1/P/Sun_"
    assert len(report.sections) == 18 and not report.complete
