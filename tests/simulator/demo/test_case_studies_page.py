"""docs/case-studies.md has the published figures of the case studies."""

import csv
import re
from typing import Any

import pytest
from tests.paths import DOCS, SHARED

from ase_simulator.demo.figures import CACHES, CPU_BUSY, THROUGHPUT, published

PAGE = (DOCS / "case-studies.md").read_text(encoding="utf-8")
CASE_STUDY = SHARED / "casestudy"


def figures(heading: str) -> list[list[float]]:
    """Numbers of each row of the table with this first heading, without the first column and empty cells."""
    table = PAGE[PAGE.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()[2:]
    cells = ([cell for cell in row.split("|")[2:-1] if cell.strip()] for row in table)
    return [[float(re.sub(r"[^\d.-]", "", cell)) for cell in row] for row in cells]


def test_the_runs_of_memscale_are_the_published_ones() -> None:
    series: list[Any] = [run for name, run in published().items() if name.startswith("series 2")]
    assert CACHES == ("default data cache", "system tables cache", "log cache")
    expected = [[run[figure] for figure in (CPU_BUSY, THROUGHPUT, *CACHES)] for run in series]
    assert expected == figures("series 2")


@pytest.mark.shared
def test_the_published_figures_are_those_of_the_case_study() -> None:
    columns = {CPU_BUSY: "cpu_busy_pct", THROUGHPUT: "xacts_per_cpu_unit"}
    columns |= {cache: f"{cache.replace(' ', '_')}_contention_pct" for cache in CACHES}
    with (CASE_STUDY / "memscale_runs.csv").open(newline="") as file:
        assert published() == {
            f"series {row['series']} run {row['run']}": {
                figure: float(row[column]) for figure, column in columns.items()
            }
            for row in csv.DictReader(file)
        }


@pytest.mark.shared
def test_the_memory_configurations_are_the_published_ones() -> None:
    def rows(name: str, key: str) -> dict[str, dict[str, str]]:
        with (CASE_STUDY / name).open(newline="") as file:
            return {row[key]: row for row in csv.DictReader(file)}

    seconds = rows("hugepages_perf.csv", "event")["elapsed_seconds"]
    derived = rows("hugepages_derived_expected.csv", "measure")
    first = float(seconds["no_thp_no_hp"])
    for (elapsed, *rest), configuration in zip(
        figures("memory"), ("no_thp_no_hp", "thp_only", "hp_2mb", "hp_1gb"), strict=True
    ):
        assert elapsed == float(seconds[configuration])
        if configuration != "no_thp_no_hp":
            assert rest.pop(0) == round(100 * (elapsed / first - 1), 1)
        assert rest == [
            float(derived[measure][configuration].rstrip("%"))
            for measure in (
                "total TLB misses (ratio of dTLB-loads)",
                "total cycles waited (ratio of cycles)",
                "instructions per cycle",
            )
        ]
