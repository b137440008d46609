"""Takes a capture: scrapes a target as `serve` does over connections that record."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

from ase_exporter.capture.file import Capture, CaptureHeader
from ase_exporter.capture.recording import Recorder
from ase_exporter.catalogue import Catalogue
from ase_exporter.config import Config, Module, Target
from ase_exporter.errors import UserError
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.sysmon.runner import SampleError, take_sample


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record. everything: also the collectors that the configuration leaves off. timeout: seconds for each
    scrape. sysmon_seconds: length of one sample of sp_sysmon, 0 for none."""

    scrapes: int = 5
    interval: float = 15.0
    timeout: float = 30.0
    everything: bool = False
    sysmon_seconds: int = 0


# Called after each step with what was done, and with the result of a scrape, to compare with a replay of the capture.
OnProgress = Callable[[str, ScrapeResult | None], None]


def take_capture(
    config: Config, target: Target, catalogue: Catalogue, plan: Plan, on_progress: OnProgress
) -> Capture:
    """Record a target. Not for the main thread. Raises UserError if a scrape cannot reach it.

    Every collector is read in every scrape, also one with a longer interval.
    """
    recorder = Recorder()
    scraper = _scraper(config, target, catalogue, plan, recorder)
    created = datetime.now(UTC)
    started = time.monotonic()
    try:
        for number in range(1, plan.scrapes + 1):
            recorder.scrape = number
            if number > 1:
                time.sleep(max(0.0, started + (number - 1) * plan.interval - time.monotonic()))
            result = ScrapeResult(time.monotonic() + plan.timeout)
            scraper.scrape(result)
            if not result.summary.up:
                raise UserError(f"target {target.name}: {result.summary.error}")
            on_progress(f"scrape {number} of {plan.scrapes}", result)
    finally:
        scraper.close()
    if plan.sysmon_seconds:
        on_progress(f"sp_sysmon: {_sample(config, target, plan.sysmon_seconds, recorder)}", None)
    header = CaptureHeader(
        exporter=version("ase-exporter"),
        created=created.isoformat(timespec="seconds"),
        scrapes=plan.scrapes,
        interval=plan.interval,
        driver=recorder.driver,
    )
    return Capture(header, recorder.statements)


def _scraper(
    config: Config, target: Target, catalogue: Catalogue, plan: Plan, recorder: Recorder
) -> TargetScraper:
    collectors = {name: replace(each, interval=0) for name, each in catalogue.collectors.items()}
    module = config.module(target.module)
    if plan.everything:
        module = Module(collectors=dict.fromkeys(collectors, True), top=module.top)
    return TargetScraper(
        TargetSettings(
            replace(target, budget=None),
            config.auth[target.auth],
            module,
            replace(config.scrape, budget=None),
            changes_interval=0.0,
        ),
        replace(catalogue, collectors=collectors),
        raw_counters=True,
        open_connection=recorder.open,
    )


def _sample(config: Config, target: Target, seconds: int, recorder: Recorder) -> str:
    auth = config.auth[target.sysmon.auth if target.sysmon else target.auth]
    try:
        take_sample(target, auth, seconds, open_connection=recorder.open)
    except SampleError as error:
        return str(error)
    return "done"
