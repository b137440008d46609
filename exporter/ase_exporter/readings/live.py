"""Samples one target at an interval, by the scrape that `serve` makes: one connection, budget and login backoff."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ase_exporter import advise
from ase_exporter.ase.connection import Connection, Opener
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Config, Module, Target, yaml_files
from ase_exporter.readings.samples import ChangeLog, Sample, Tracker
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, waits_of

# The collectors that are read, with the seconds between two readings. Those that are off by default are switched on;
# one that the target's module switches off stays off.
COLLECTORS = yaml_files.load_shipped(Path(__file__).with_name("collectors.yaml"), dict[str, float])
# Rows with series of their own in the tables that can grow.
TOP = 50


@dataclass(frozen=True, slots=True)
class CollectorChoice:
    """What is read. collectors: with the seconds between two readings. top: rows with series of their own."""

    collectors: Mapping[str, float]
    top: int

    def module(self, module: Module, catalogue: Catalogue) -> Module:
        chosen = {
            name: name in self.collectors and module.collectors.get(name, True)
            for name in catalogue.collectors
        }
        return Module(collectors=chosen, series_limit=module.series_limit, top=self.top)

    def paced(self, catalogue: Catalogue) -> Catalogue:
        collectors = {
            name: replace(each, interval=self.collectors.get(name, each.interval))
            for name, each in catalogue.collectors.items()
        }
        return replace(catalogue, collectors=collectors)


SCREEN = CollectorChoice(COLLECTORS, TOP)
# For advice also which tables are read most, where they are cached and whose they are, and which session uses most.
MORE = ("objects", "cached_objects", "table_owners", "process_activity")
# Advice on bindings needs more objects than a scrape exports.
ADVICE = CollectorChoice(dict.fromkeys((*COLLECTORS, *MORE), 0.0), 200)


def advice_catalogue(directories: Iterable[str | Path] = ()) -> Catalogue:
    """The catalogue, with what only advice needs."""
    return load_catalogue((*directories, Path(advise.__file__).with_name("catalogue")))[0]


class TargetSampler:
    """Samples of one target. For one thread at a time, which must not be the main one.

    interval: seconds between samples. timeout: seconds of a scrape; by default that of the configuration. clock,
    open_connection: as that of TargetScraper. save: called after each sample, to record it; returns a note
    for the screen or ''. selection: what is read, by default what the screen shows;
    groups: what of sessions. looked_at: the session whose waits are read, too.
    """

    def __init__(
        self,
        config: Config,
        target: Target,
        catalogue: Catalogue,
        interval: float,
        *,
        timeout: float | None = None,
        clock: Clock = SYSTEM_CLOCK,
        open_connection: Opener[Connection] = Connection.open,
        save: Callable[[], str] | None = None,
        selection: CollectorChoice = SCREEN,
        groups: Iterable[str] = (SESSIONS, STATEMENTS),
    ) -> None:
        self.target = target
        self.interval = interval
        self.timeout = timeout or config.scrape.timeout
        self._clock = clock
        chosen = selection.module(config.module(target.module), catalogue)
        settings = TargetSettings.of(config, target)
        self._scraper = TargetScraper(
            replace(settings, module=chosen),
            selection.paced(catalogue),
            clock=clock,
            open_connection=open_connection,
            session_interval=0.0,
        )
        self._groups = frozenset(groups)
        self.looked_at: int | None = None
        self._off = frozenset(name for name, on in chosen.collectors.items() if not on)
        self._tracker = Tracker()
        self._changes = ChangeLog(target.name)
        self._scrapes, self._seconds = 0, 0.0
        self._save = save

    def take(self) -> Sample:
        """Scrape once. Never raises: an error is part of the sample."""
        deadline = self._clock.monotonic() + self.timeout
        result = self._result(deadline)
        if not self._scraper.connected:
            # Log in and plan first: the time for that must not be part of the time between two readings.
            result.request = ScrapeRequest(collectors=frozenset())
            self._scraper.scrape(result)
            if not result.summary.error:
                result = self._result(deadline)
        at, started = self._clock.time(), self._clock.monotonic()
        if not result.summary.error:
            self._scraper.scrape(result)
        return self._sample(result, at, started)

    def _result(self, deadline: float) -> ScrapeResult:
        looked_at = self.looked_at
        groups = self._groups if looked_at is None else self._groups | {waits_of(looked_at)}
        return ScrapeResult(deadline, ScrapeRequest(session_groups=groups), clock=self._clock)

    def close(self) -> None:
        self._scraper.close()

    def _sample(self, result: ScrapeResult, at: float, started: float) -> Sample:
        error, kind = result.summary.error, result.error_kind
        if not error and not result.summary.up:
            # Each collector has timed out on its own, and none has been answered.
            error, kind = f"no answer within {self.timeout:g} s", "deadline"
        if error:
            self._tracker.forget()
        else:
            self._tracker.note(started, result.collected, result.failed)
        if result.config_snapshot:
            self._changes.note(result.config_snapshot)
        total = self._scraper.cost
        scrapes, seconds = total.scrapes - self._scrapes, total.statement_seconds - self._seconds
        self._scrapes, self._seconds = total.scrapes, total.statement_seconds
        return Sample(
            target=self.target.name,
            at=at,
            monotonic=started,
            interval=self.interval,
            error=error,
            kind=kind,
            version=result.summary.version,
            series=self._tracker.series(),
            missing=result.missing,
            off=self._off,
            stretched=self._scraper.stretches(),
            budget=self._scraper.budget,
            statement_share=seconds / (scrapes * self.interval) if scrapes else None,
            changes=tuple(self._changes.changes),
            facts=self._scraper.facts,
            sessions=result.sessions,
            note=self._save() if self._save else "",
        )
