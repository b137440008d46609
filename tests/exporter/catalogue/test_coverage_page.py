"""docs/coming-from.md names collectors that exist."""

import re

from tests.paths import REPOSITORY

from ase_exporter.catalogue import load_catalogue

PAGE = (REPOSITORY / "docs" / "coming-from.md").read_text(encoding="utf-8")


def test_every_collector_it_names_exists_and_is_on_or_off_as_it_says() -> None:
    catalogue, _ = load_catalogue()
    rows = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| Cm")]
    assert len(rows) > 50
    for here in rows:
        for part in here.split(";"):
            if "ase-exporter" in part or part.strip() in ("left out", "the host metrics", "node_exporter"):
                continue
            # A command, not a collector.
            part = part.replace("`top`", "")
            off = part.rstrip().endswith(" off")
            for name in re.findall(r"`([a-z_]+)`", part):
                assert catalogue.collectors[name].default is not off, name
