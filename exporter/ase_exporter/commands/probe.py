"""`ase-exporter probe`: one or two scrapes of one target, printed."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ase_exporter import logs
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.commands.options import choose_target, load_config
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.metrics.exposition import render_text
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

RAW_COUNTERS = (
    "# Counters: the server's own values, since its start or since they were last cleared. A running exporter counts"
    " from 0 at its own start instead.\n"
)
RATE_SUFFIX = "_per_second"


def probe(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    seconds: float | None = None,
    timeout: float = 10.0,
) -> None:
    # The target's error is the last line of the output; a log line would repeat it.
    logs.configure("text", "error")
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    for problem in problems:
        print(f"ase-exporter: {problem}", file=sys.stderr)
    scraper = _scraper(loaded, chosen, catalogue)
    scrapes: list[ScrapeResult] = []
    _in_thread(
        lambda: _scrape(scraper, timeout, seconds, scrapes),
        2 * timeout + (seconds or 0.0) + 1.0,
        f"target {chosen.name}: the driver did not return in time",
    )
    first, *later = scrapes
    families = first.all_families(stuck=False)
    if later and seconds:
        families = list(_with_rates(families, first, later[-1], seconds))
    print(RAW_COUNTERS + render_text(families), end="")
    scraper.close()
    for result in scrapes:
        if result.summary.error:
            raise UserError(f"target {chosen.name}: {result.summary.error}")


def _scraper(loaded: Config, target: Target, catalogue: Catalogue) -> TargetScraper:
    """A scraper that reads every collector in both scrapes, also those with a longer interval."""
    for name, collector in catalogue.collectors.items():
        catalogue.collectors[name] = replace(collector, interval=0)
    return TargetScraper(
        replace(target, budget=None),
        loaded.auth[target.auth],
        loaded.module(target.module),
        replace(loaded.scrape, budget=None),
        catalogue,
        raw_counters=True,
    )


def _in_thread(work: Callable[[], None], seconds: float, error: str) -> None:
    """Run off the main thread, so that Ctrl-C works while the driver blocks. Raises UserError if it takes longer."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise UserError(error)


def _scrape(
    scraper: TargetScraper, timeout: float, seconds: float | None, scrapes: list[ScrapeResult]
) -> None:
    """Append one scrape, or two with that many seconds from the one's start to the other's."""
    deadline = time.monotonic() + timeout
    if seconds:
        # Log in and plan first: the time for that must not be part of the time between the scrapes.
        login = ScrapeResult(deadline, collectors=frozenset())
        scraper.scrape(login)
        if login.summary.error:
            scrapes.append(login)
            return
    started = time.monotonic()
    scrapes.append(ScrapeResult(deadline))
    scraper.scrape(scrapes[0])
    if seconds and not scrapes[0].summary.error:
        time.sleep(max(0.0, started + seconds - time.monotonic()))
        scrapes.append(ScrapeResult(time.monotonic() + timeout))
        scraper.scrape(scrapes[1])


def _with_rates(
    families: Sequence[Family], first: ScrapeResult, second: ScrapeResult, seconds: float
) -> Iterator[Family]:
    """The families, each counter of a collector followed by its rate where both scrapes have the series."""
    collected = {family.name for each in first.collected.values() for family in each}
    later = {family.name: dict(family.samples) for each in second.collected.values() for family in each}
    for family in families:
        yield family
        if family.kind != "counter" or family.name not in collected:
            continue
        ends = later.get(family.name, {})
        samples = [
            (labels, (ends[labels] - value) / seconds) for labels, value in family.samples if labels in ends
        ]
        if samples:
            yield Family(
                family.name.removesuffix("_total") + RATE_SUFFIX,
                "gauge",
                f"Growth per second of {family.name}, over {seconds:g} s.",
                family.labels,
                samples,
            )
