"""docs/coming-from.md names collectors that exist, and covers all of DbxTune's."""

import re

import pytest
from tests.paths import REPOSITORY

from ase_exporter.catalogue import load_catalogue

PAGE = (REPOSITORY / "docs" / "coming-from.md").read_text(encoding="utf-8")
NOTES = REPOSITORY.parent / "shared" / "notes" / "dbxtune-collectors.md"


def test_every_collector_it_names_exists_and_is_on_or_off_as_it_says() -> None:
    catalogue, _ = load_catalogue()
    rows = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| Cm")]
    assert len(rows) > 50
    for here in rows:
        for part in here.split(";"):
            if "ase-exporter" in part or part.strip() in ("left out", "the host metrics", "node_exporter"):
                continue
            off = part.rstrip().endswith(" off")
            for name in re.findall(r"`([a-z_]+)`", part):
                assert catalogue.collectors[name].default is not off, name


def test_no_collector_of_dbxtune_is_forgotten() -> None:
    if not NOTES.exists():
        pytest.skip("the list of DbxTune's collectors is not here")
    names = set(re.findall(r"^\| (Cm\w+) \|", NOTES.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(names) > 60
    assert names <= set(re.findall(r"\bCm\w+", PAGE))
