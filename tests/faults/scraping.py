"""A scraper of one simulated server in this process, and what its scrapes give."""

from typing import Any

from tests.exporter.clocks import ShiftedClock, opener
from tests.exporter.simulated import PASSWORD

from ase_exporter.catalogue import load_catalogue
from ase_exporter.clock import SYSTEM_CLOCK
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.metrics.exposition import render_text
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

# What a busy machine may add to a deadline before a test calls it missed.
SLACK = 20.0
CATALOGUE, _ = load_catalogue()

Samples = dict[tuple[str, ...], float]


def scraper_of(
    address: tuple[str, int],
    *,
    user: str = "monitor",
    password: str = PASSWORD,
    encrypt_password: bool = False,
    clock: ShiftedClock | None = None,
    settings: Scrape | None = None,
    **seams: Any,
) -> TargetScraper:
    """clock: its time, if the test moves it. settings: by default without a budget. seams: of the scraper."""
    if clock:
        seams = {"clock": clock.clock, "open_connection": opener(clock.clock)} | seams
    return TargetScraper(
        Target(name="ONE", host=address[0], port=address[1], encrypt_password=encrypt_password),
        Auth(user=user, password=password),
        Module(),
        settings or Scrape(connect_timeout=60.0, budget=None),
        CATALOGUE,
        **seams,
    )


def scrape(scraper: TargetScraper, seconds: float = 60.0, clock: ShiftedClock | None = None) -> ScrapeResult:
    """One scrape, which must be over by its deadline."""
    moved = clock.clock if clock else SYSTEM_CLOCK
    result = ScrapeResult(moved.monotonic() + seconds, clock=moved)
    scraper.scrape(result)
    assert moved.monotonic() < result.deadline + SLACK
    return result


def failed(result: ScrapeResult) -> dict[str, str]:
    """The collectors that were not read whole, and why."""
    return {name: outcome.reason for name, outcome in result.outcomes.items() if outcome.reason}


def samples(result: ScrapeResult) -> dict[str, Samples]:
    """What was read of the server, by metric."""
    return {
        family.name: {tuple(labels): value for labels, value in family.samples}
        for families in result.collected.values()
        for family in families
    }


def text(result: ScrapeResult) -> str:
    """The answer to the caller."""
    return render_text(result.all_families(stuck=False))
