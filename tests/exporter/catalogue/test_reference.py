"""docs/metrics.md is up to date."""

from docs.write import METRICS, metrics


def test_the_page_is_up_to_date() -> None:
    assert METRICS.read_text(encoding="utf-8") == metrics(), "docs/metrics.md is stale: make generate"
