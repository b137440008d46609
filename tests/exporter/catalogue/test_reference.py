"""docs/metrics.md is up to date with the catalogue."""

from tests.paths import DOCS

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.reference import reference

PAGE = DOCS / "metrics.md"


def test_page_is_up_to_date() -> None:
    catalogue, problems = load_catalogue()
    assert problems == []
    assert PAGE.read_text(encoding="utf-8") == reference(catalogue), (
        "run: ase-exporter catalogue reference > docs/metrics.md"
    )
