"""docs/metrics.md is up to date."""

from docs.write import METRICS, metrics

from ase_exporter.catalogue import load_catalogue


def test_the_catalogue_has_no_problems() -> None:
    assert load_catalogue()[1] == []


def test_the_page_is_up_to_date() -> None:
    assert METRICS.read_text(encoding="utf-8") == metrics(), "docs/metrics.md is stale: make generate"
