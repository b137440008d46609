"""The thread of one target, which runs one scrape after the other and alone has the connection and the counters."""

import asyncio
import contextlib
import gzip
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ase_exporter.ase.call_record import call_record
from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.turn import TURN

log = logging.getLogger(__name__)

TOO_LATE = "not everything was read in time"


@dataclass(slots=True, eq=False)
class RunningScrape:
    """A scrape that has been asked for.

    result: what it has found so far. body: set in the event loop when the scrape has ended; empty if sessions were
    asked for instead, or if a bug of the exporter ended it.
    """

    result: ScrapeResult
    body: asyncio.Future[bytes]


def render_scrape(result: ScrapeResult, *, stuck: bool = False) -> bytes:
    """The exposition of what a scrape has found so far; empty if sessions were asked for.

    stuck: the target's thread has not come back.
    """
    if result.request.session_groups:
        return b""
    families = result.all_families(stuck)
    result.summary.series = sum(len(family.samples) for family in families)
    body = render_bytes(families)
    return gzip.compress(body, compresslevel=1, mtime=0) if result.request.compress else body


class TargetThread:
    """A target's thread, which is started with the first scrape.

    judge: called with each scrape that has ended, to set its diagnosis.
    before: the thread of the target under an older configuration, which ends first, so that the server never sees two
    connections. on_end: called in the event loop with each scrape that has ended, also after its caller was answered.
    """

    def __init__(
        self,
        scraper: TargetScraper,
        judge: Callable[[ScrapeResult], None],
        on_end: Callable[[ScrapeResult], None],
        before: "TargetThread | None" = None,
    ) -> None:
        self._scraper = scraper
        self._judge = judge
        self._on_end = on_end
        self._before = before
        self._scrapes: queue.SimpleQueue[RunningScrape | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, scrape: RunningScrape) -> None:
        """Queue a scrape. Raises RuntimeError if no thread can be started."""
        if self._thread is None:
            name = f"target {self._scraper.name}"
            thread = threading.Thread(
                target=self._run, args=(asyncio.get_running_loop(),), name=name, daemon=True
            )
            thread.start()
            self._thread = thread
        self._scrapes.put(scrape)

    def end(self) -> None:
        """Log out and end the thread after the scrapes that are queued."""
        self._scrapes.put(None)

    @property
    def runs(self) -> bool:
        """Whether the thread, or one that ends before it, has not ended."""
        before = self._before
        return bool(self._thread and self._thread.is_alive()) or bool(before and before.runs)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, for so many seconds at most."""
        if self._before:
            self._before.join(timeout)
        if self._thread:
            self._thread.join(timeout)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._before:
            self._before.join()
            self._before = None
        call_record.enter_thread(self._scraper.name)
        self._guard(self._scraper.restore_totals)
        while scrape := self._scrapes.get():
            body = self._scrape(scrape)
            # The loop is closed once the exporter ends.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._finish, scrape, body)
            # While the thread waits, nothing keeps what the scrape found.
            del scrape, body
        self._guard(self._scraper.save_totals)
        self._guard(self._scraper.close)

    def _guard(self, action: Callable[[], None]) -> None:
        """Do something that no bug must turn into the end of the thread."""
        try:
            action()
        except Exception:
            log.exception("target %s: unexpected error", self._scraper.name)

    def _scrape(self, scrape: RunningScrape) -> bytes:
        result = scrape.result
        if time.monotonic() >= result.deadline:
            # Another scrape took too long, of which its caller is told now if it waits for a moment more.
            result.summary.error = TOO_LATE
            return render_scrape(result, stuck=True)
        try:
            with TURN.held():
                self._scraper.scrape(result)
                self._guard(lambda: self._judge(result))
                return render_scrape(result)
        except Exception:
            # A bug of the exporter must cost one target one scrape, not its thread.
            log.exception("target %s: unexpected error", self._scraper.name)
            result.summary.up, result.summary.error = False, "unexpected error, see the log"
            return b""

    def _finish(self, scrape: RunningScrape, body: bytes) -> None:
        """Called in the event loop."""
        self._on_end(scrape.result)
        if not scrape.body.done():
            scrape.body.set_result(body)
