"""Scrapes that must be over by their deadline, and what they give."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

from prometheus_client.parser import text_string_to_metric_families
from tests.exporter.clocks import ShiftedClock
from tests.exporter.samples import by_name

from ase_exporter.clock import SYSTEM_CLOCK
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

# What a busy machine may add to a deadline before a test calls it missed.
SLACK = 20.0

Samples = dict[tuple[str, ...], float]


@contextmanager
def dropping() -> Iterator[int]:
    """The port of a listener whose backlog is full: the kernel drops what comes next, as a firewall does."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield full.getsockname()[1]


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
    return by_name(chain.from_iterable(result.collected.values()))


def exposed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What an exporter answered, by metric and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
