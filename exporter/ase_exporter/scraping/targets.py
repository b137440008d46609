"""All targets of the process: a thread each, scrapes that callers share, and answers by each caller's deadline.

All methods run in the event loop.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ase_exporter.ase.call_record import call_record
from ase_exporter.ase.database_error import NO_THREAD
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.catalogue import Catalogue
from ase_exporter.config import Config, Target
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.totals_files import TotalsFiles
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult, ScrapeSummary, TargetState
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.scraping.target_thread import (
    TOO_LATE,
    RunningScrape,
    TargetThread,
    render_scrape,
)
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sysmon.runner import SysmonRunner

log = logging.getLogger(__name__)

# Callers who ask for the same thing share one scrape. Too many different ones would delay all others.
MAX_IN_FLIGHT = 16
# Of a caller's time that a scrape must have left to be shared.
MIN_SHARE = 0.25


class BusyError(Exception):
    """Too many different scrapes of one target at once."""


@dataclass(frozen=True, slots=True)
class Answer:
    """body: the exposition; empty if sessions were asked for. sessions: if they were read."""

    body: bytes
    summary: ScrapeSummary
    sessions: Snapshot | None = None


def _has_time(result: ScrapeResult, deadline: float) -> bool:
    """Whether a scrape under way may be shared until a deadline: one that somebody cut short serves no others."""
    now = time.monotonic()
    return result.deadline > now and result.deadline - now >= (deadline - now) * MIN_SHARE


@dataclass(slots=True, eq=False)
class _Target:
    """A target with its thread. in_flight: its scrapes; those past their deadline are not joined any more."""

    settings: TargetSettings
    thread: TargetThread
    sysmon: SysmonRunner | None
    state: TargetState
    in_flight: dict[ScrapeRequest, RunningScrape] = field(default_factory=dict)

    def end(self) -> None:
        self.thread.end()
        if self.sysmon:
            self.sysmon.stop()


class Targets:
    """The targets of the configuration.

    judge: gives what judges the scrapes of a target, in its thread.
    on_end: called with a target's name and each result of a scrape that has ended, on time or not. totals: None keeps
    them only as long as a target is configured.
    """

    def __init__(
        self,
        logins: LoginLedger,
        totals: TotalsFiles | None = None,
        on_end: Callable[[str, ScrapeResult], None] = lambda *_: None,
        judge: Callable[[Target], Callable[[ScrapeResult], None]] = lambda _: lambda _: None,
    ) -> None:
        self._ledger = logins
        self._totals = totals
        self._on_end = on_end
        self._judge = judge
        self._catalogue: Catalogue | None = None
        self._targets: dict[str, _Target] = {}
        # Those that are not configured any more and may still be logging out, by name.
        self._ending: dict[str, TargetThread] = {}
        # Where sp_sysmon cleared counters and is not run again, by host and port.
        self._halted: set[tuple[str, int]] = set()

    @property
    def states(self) -> dict[str, TargetState]:
        """The last scrape of each target."""
        return {name: each.state for name, each in self._targets.items()}

    def configure(self, config: Config, catalogue: Catalogue) -> None:
        """Apply a configuration: a target that it does not change keeps its connection, counters and scrapes."""
        same_catalogue, self._catalogue = catalogue == self._catalogue, catalogue
        before, self._targets = self._targets, {}
        for target in config.targets:
            settings = TargetSettings.of(config, target)
            known = before.pop(target.name, None)
            if known is None or known.settings != settings or not same_catalogue:
                known = self._start(settings, catalogue, known)
            self._targets[target.name] = known
        self._ending = {name: thread for name, thread in self._ending.items() if thread.runs}
        for name, removed in before.items():
            removed.end()
            self._ending[name] = removed.thread

    async def scrape(
        self,
        name: str,
        request: ScrapeRequest,
        deadline: float,
        families: Sequence[Family] = (),
        late_after: float = TIMING.late_after,
    ) -> Answer:
        """Scrape a target, or join a scrape of the same that is under way. deadline: monotonic.

        families: what the caller knows of the target, to be rendered with the rest. What has been found by the deadline
        is answered late_after later. Raises KeyError for an unknown target, BusyError if MAX_IN_FLIGHT different
        scrapes of it are in flight. A scrape that has much less time left than the caller is not joined.
        """
        target = self._targets[name]
        if pause := call_record.pause(name):
            return self._failed(target, request, "paused", pause)
        running = target.in_flight.get(request)
        if running is None or not _has_time(running.result, deadline):
            try:
                running = self._begin(target, request, deadline, families)
            except RuntimeError:
                log.error("target %s: %s", name, NO_THREAD)
                return self._failed(target, request, "internal", NO_THREAD)
        # Others wait for it, too: who leaves does not cancel it.
        await asyncio.wait([running.body], timeout=deadline + late_after - time.monotonic())
        if running.body.done():
            body, summary = running.body.result(), running.result.summary
            if not body and not request.session_groups:
                return self._failed(target, request, "internal", summary.error)
        else:
            body = render_scrape(running.result, stuck=True)
            summary = replace(running.result.summary, error=TOO_LATE)
        if not request.session_groups:
            target.state.update(summary, running.result.verdict)
        return Answer(body, summary, running.result.sessions)

    async def stop(self) -> None:
        """End all threads, which write their totals; waits for those that hang for TIMING.stop_timeout."""
        for name, target in self._targets.items():
            target.end()
            self._ending[name] = target.thread
        limit = time.monotonic() + TIMING.stop_timeout

        def join_all() -> None:
            for thread in self._ending.values():
                thread.join(max(0.0, limit - time.monotonic()))

        await asyncio.to_thread(join_all)

    def _start(self, settings: TargetSettings, catalogue: Catalogue, before: _Target | None) -> _Target:
        target = settings.target
        sysmon = self._start_sysmon(settings)
        scraper = TargetScraper(settings, catalogue, sysmon, self._ledger, self._totals)
        if before:
            before.end()

        def on_end(result: ScrapeResult) -> None:
            self._note(target, result)

        judge = self._judge(target)
        # That of a target that was removed, and comes back, may still run.
        older = before.thread if before else self._ending.pop(target.name, None)
        thread = TargetThread(scraper, judge, on_end, older if older and older.runs else None)
        return _Target(settings, thread, sysmon, before.state if before else TargetState())

    def _start_sysmon(self, settings: TargetSettings) -> SysmonRunner | None:
        target = settings.target
        if target.sysmon is None or settings.sysmon_auth is None:
            return None
        halted = (target.host, target.port) in self._halted or call_record.is_sysmon_halted(target.name)
        runner = SysmonRunner(target, settings.sysmon_auth, target.sysmon, ledger=self._ledger, halted=halted)
        try:
            runner.start()
        except RuntimeError:
            log.error("target %s: sp_sysmon: %s", target.name, NO_THREAD)
        return runner

    def _begin(
        self, target: _Target, request: ScrapeRequest, deadline: float, families: Sequence[Family]
    ) -> RunningScrape:
        now = time.monotonic()
        target.in_flight = {
            asked: each
            for asked, each in target.in_flight.items()
            if each.result.deadline > now and asked != request
        }
        if len(target.in_flight) >= MAX_IN_FLIGHT:
            name = target.settings.target.name
            raise BusyError(f"target {name}: {MAX_IN_FLIGHT} different scrapes are under way")
        result = ScrapeResult(deadline, request, families)
        running = RunningScrape(result, asyncio.get_running_loop().create_future())
        target.thread.submit(running)
        target.in_flight[request] = running

        def forget(_: object) -> None:
            if target.in_flight.get(request) is running:
                del target.in_flight[request]

        running.body.add_done_callback(forget)
        return running

    def _note(self, target: Target, result: ScrapeResult) -> None:
        """Keep what an ended scrape has found beyond its exposition."""
        if result.ended:
            call_record.note_survival(target.name)
        if result.sysmon_halted:
            self._halted.add((target.host, target.port))
            call_record.halt_sysmon(target.name)
        self._on_end(target.name, result)

    @staticmethod
    def _failed(target: _Target, request: ScrapeRequest, kind: str, why: str) -> Answer:
        """The answer to a scrape that could not be made. kind: why, in one word."""
        summary = ScrapeSummary(error=why)
        result = ScrapeResult(0.0, request, summary=summary, error_kind=kind)
        target.state.update(summary, result.verdict)
        return Answer(render_scrape(result), summary)
