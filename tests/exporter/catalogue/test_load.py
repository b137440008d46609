"""Errors in catalogue files are reported with file, line and key, and affect no other file."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from ase_exporter.advise.remedies import RemedyCatalogue
from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.load import HERE, select_problem
from ase_exporter.catalogue.model import Collector
from ase_exporter.compare.measures import Measure
from ase_exporter.config import yaml_files
from ase_exporter.config.host import Profiles
from ase_exporter.diagnosis.catalogue import DiagnosisCatalogue
from ase_exporter.report.profile import LoadCounter, ProfileTable
from ase_exporter.sessions.sources import Source
from ase_exporter.top.tables import TableDefinition

GOOD = """
jobs:
  help: Jobs of the scheduler.
  sql: select name, queued from jobdb..jobs
  columns: {Name: varchar, Queued: int}
  roles: []
  labels: {queue: Name}
  metrics:
    ase_custom_jobs_queued: {help: Jobs that wait., column: Queued}
"""


def test_the_built_in_files_are_valid() -> None:
    catalogue, problems = load_catalogue()
    assert problems == []
    assert next(iter(catalogue.collectors)) == "state"


PACKAGES = HERE.parent
BUILT_IN: dict[Path, Any] = dict.fromkeys(sorted(HERE.glob("*.yaml")), dict[str, Collector]) | {
    PACKAGES / "advise" / "remedies.yaml": RemedyCatalogue,
    PACKAGES / "report" / "load_profile.yaml": list[LoadCounter],
    PACKAGES / "report" / "tables.yaml": dict[str, ProfileTable],
    PACKAGES / "compare" / "measures.yaml": dict[str, Measure],
    PACKAGES / "config" / "perf_profiles.yaml": Profiles,
    PACKAGES / "diagnosis" / "findings.yaml": DiagnosisCatalogue,
    PACKAGES / "sessions" / "sources.yaml": dict[str, Source],
    PACKAGES / "readings" / "collectors.yaml": dict[str, float],
    PACKAGES / "top" / "tables.yaml": dict[str, TableDefinition],
}


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.name)
def test_the_strict_loader_reads_the_built_in_files_alike(path: Path) -> None:
    form: TypeAdapter[Any] = TypeAdapter(BUILT_IN[path])
    assert yaml_files.load_shipped(path, form) == yaml_files.load(path, form)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("jobs: [", 1, "expected"),
        (GOOD.replace("roles:", "rolls:"), 6, "unknown key"),
        ("jobs:\n  help: Jobs of ours.\n  table: mon State\n", 3, "not a column name"),
        (GOOD.replace("column: Queued", "column: Queud"), 2, "has no column 'Queud'"),
        (GOOD.replace("{queue: Name}", "{type: Name}"), 2, "'type' is reserved"),
        (GOOD.replace("ase_custom", "custom"), 2, "starting with ase_"),
        (GOOD.replace("column: Queued}", "column: Queued, unit: furlong}"), 9, "unknown unit 'furlong'"),
        (GOOD.replace("roles: []", "since: new"), 6, "no version number"),
        (GOOD.replace("roles: []", 'before: {"15.0": {absent: x}}'), 2, "no part 'absent'"),
        (
            GOOD.replace("ase_custom_jobs_queued", "ase_connections"),
            None,
            "collector state defines it already",
        ),
        (
            GOOD.replace("ase_custom_jobs_queued", "ase_up"),
            None,
            "the exporter has metrics of this name itself",
        ),
        (GOOD.replace("ase_custom", "ase_exporter"), None, "the exporter has metrics of this name itself"),
        (GOOD.replace("jobs:", "state:", 1), None, "exists in state.yaml"),
    ],
)
def test_an_error_is_one_line_and_costs_its_file_only(
    tmp_path: Path, text: str, line: int | None, expected: str
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text)
    (tmp_path / "good.yaml").write_text(GOOD.replace("jobs", "others"))
    catalogue, problems = load_catalogue([tmp_path])
    assert len(problems) == 1
    assert problems[0].startswith(f"{bad}:{line}: " if line else f"{bad}: ")
    assert expected in problems[0]
    assert "\n" not in problems[0]
    assert "others" in catalogue.collectors


def test_a_missing_directory_is_reported_and_not_fatal(tmp_path: Path) -> None:
    catalogue, problems = load_catalogue([tmp_path / "none"])
    assert len(problems) == 1
    assert "no such directory" in problems[0]
    assert catalogue.collectors


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  SELECT db_name(dbid), count(*) from master..sysprocesses group by dbid order by 1",
        "select a from t union all select b from u union select c from v",
        "select a from t where b in (select c from u)",
        "select 'delete; drop', \"update\", [insert] from t -- delete\n/* exec */",
        "select deleted_rows, updates, @@spid from t at isolation read uncommitted",
    ],
)
def test_a_select_is_accepted(text: str) -> None:
    assert select_problem(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("delete master..sysprocesses", "`delete`"),
        ("exec sp_who", "`exec`"),
        ("sp_who", "`sp_who`"),
        ("select 1 delete t", "`delete`"),
        ("select 1 lock table t in exclusive mode", "`lock`"),
        ("select 1; select 2", "`;`"),
        ("select 1 select 2", "a second `select`"),
        ("select * into copy from t", "`into`"),
        ("set rowcount 0 select 1", "`set`"),
        ("select 1\ngo\nshutdown", "`go`"),
        ("-- only a comment", "nothing"),
    ],
)
def test_anything_else_is_named(text: str, found: str) -> None:
    assert select_problem(text) == f"`sql`: expected one select and nothing else, found {found}"
