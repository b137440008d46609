"""The table of docs/serving.md follows from its measured figures."""

import re

import pytest
from tests.paths import DOCS

PAGE = (DOCS / "serving.md").read_text()
INTERVAL, DAY = 15, 86_400
# As the page says them, in its words.
SERIES, SCRAPED = 2_100, 1_740
VICTORIA_BYTES, PROMETHEUS_BYTES = 0.4, 3.0
KIB = {"VictoriaMetrics": 0.8, "Prometheus": 6.1, "an agent": 2.8}
SCRAPE_SECONDS = 0.030


def rows() -> list[list[float]]:
    """The numbers of the table of fleets."""
    table = PAGE[PAGE.index("| servers | series |") :].splitlines()[2:5]
    return [[float(cell.replace(",", "")) for cell in re.findall(r"\| ([\d.,]+)", line)] for line in table]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]:.0f}")
def test_a_row_is_the_product_of_what_was_measured(row: list[float]) -> None:
    servers = row[0]
    rate = servers * SERIES / INTERVAL
    gibibytes = [
        servers * each * KIB[who] / 2**20
        for who, each in (("VictoriaMetrics", SERIES), ("Prometheus", SERIES), ("an agent", SCRAPED))
    ]
    disk = [rate * DAY * 365 * VICTORIA_BYTES / 1e9, rate * DAY * 30 * PROMETHEUS_BYTES / 1e9]
    cores = servers / INTERVAL * SCRAPE_SECONDS
    assert row == pytest.approx(
        [servers, servers * SERIES, rate, *disk, *gibibytes, cores], rel=0.05, abs=0.005
    )


def test_the_page_names_the_figures_it_is_computed_from() -> None:
    for said in ("2,100 series per server, 1,740 of which", "sample in VictoriaMetrics, 3 in Prometheus",
                 "30 ms for one of `memscale`", "| 6.1 KiB |", "| 2.8 KiB |", "| 0.8 KiB |"):  # fmt: skip
        assert said in PAGE
