"""docs/metrics.md says what the catalogue says."""

from pathlib import Path

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_page_is_up_to_date() -> None:
    catalogue, problems = load_catalogue()
    assert problems == []
    assert PAGE.read_text(encoding="utf-8") == reference(catalogue), (
        "run: ase-exporter catalogue reference > docs/metrics.md"
    )
