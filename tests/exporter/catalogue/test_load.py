"""Errors in catalogue files are reported with file, line and key, and affect no other file."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from ase_exporter.advise.remedies import RemedyCatalogue
from ase_exporter.assets import load_yaml
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

FILES = load_yaml(Path(__file__).with_name("files.yaml").read_text(encoding="utf-8"))
GOOD: str = FILES["good"]


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
    [*FILES["texts"], *((GOOD.replace(old, new), *said) for old, new, *said in FILES["changes"])],
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


@pytest.mark.parametrize("text", FILES["selects"])
def test_a_select_is_accepted(text: str) -> None:
    assert select_problem(text) is None


@pytest.mark.parametrize(("text", "found"), FILES["no_selects"])
def test_anything_else_is_named(text: str, found: str) -> None:
    assert select_problem(text) == f"`sql`: expected one select and nothing else, found {found}"
