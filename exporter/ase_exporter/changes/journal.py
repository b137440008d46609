"""The changes part of the front process: compares looks, keeps history, feeds metrics and Grafana.

What the metrics need stays in memory; everything that touches the disk runs on one thread of its own, so a
slow or full disk never holds up a scrape.
"""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ase_exporter.changes.change import ANNOTATION, HOST, Change, from_differences
from ase_exporter.changes.config import ChangesConfig
from ase_exporter.changes.hostlook import HostWatch
from ase_exporter.changes.snapshot import Look, Snapshot, compare, decode, encode, merge
from ase_exporter.changes.store import Filter, Store, StoreError, open_store

if TYPE_CHECKING:
    from ase_exporter.changes.grafana import Grafana
    from ase_exporter.changes.poster import Poster

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Of the changes of one target, so many stand in the metrics.
MOST_RECENT = 50
# An annotation with this tag announces maintenance until it is finished, but no longer than so many seconds: a mark
# that somebody forgot must not mute alerts for ever.
MAINTENANCE = "maintenance"
LONGEST_MAINTENANCE = 86400.0
PRUNE_INTERVAL = 600.0
_POSTER = "posted to Grafana"


class Journal:
    """One for the life of the process; `configure` follows a reload of the configuration."""

    def __init__(self, config: ChangesConfig, directory: Path | None, host: HostWatch | None = None) -> None:
        self.config = config
        self._store: Store = open_store(directory)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._host = host
        self._grafana: Grafana | None = None
        self.poster: Poster | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._looks: dict[str, tuple[float, bytes]] = {}
        self._pending: dict[str, Look] = {}
        self._unsaved: dict[str, list[Change]] = {}
        self._confirmed: dict[str, float] = {}
        self._recent: defaultdict[str, deque[Change]] = defaultdict(lambda: deque(maxlen=MOST_RECENT))
        self._totals: dict[tuple[str, str], int] = {}
        self._maintenance: dict[str, Change] = {}
        self._work = asyncio.Event()
        self.store_errors = 0
        self.store_ok = True
        self.given_up = 0
        self.queued = 0

    async def start(self) -> None:
        """Read what is remembered and begin to work."""
        await self._in_store(self._load)
        self._spawn(self._keep(), "kept")
        self._spawn(self._watch_host(), "looked for on this machine")
        self._start_poster()

    async def stop(self) -> None:
        """Save what can be saved and end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._grafana:
            await self._grafana.close()
        with contextlib.suppress(StoreError):
            await self._in_store(self._save)
        await self._in_store(self._store.close)
        self._executor.shutdown()

    async def configure(self, config: ChangesConfig, host: HostWatch | None) -> None:
        """Go over to a new configuration."""
        changed = config.grafana != self.config.grafana
        self.config = config
        self._host = host
        if changed:
            for task in [task for task in self._tasks if task.get_name() == _POSTER]:
                task.cancel()
            if self._grafana:
                await self._grafana.close()
            self._start_poster()

    def on_look(self, target: str, look: Look) -> None:
        """Take a look at a target ('' for the machine); returns at once."""
        earlier = self._pending.get(target)
        if look.snapshot is None:
            if earlier is None and target in self._looks and target not in self._unsaved:
                self._looks[target] = (look.at, self._looks[target][1])
                self._confirmed[target] = look.at
                return
            known = earlier.snapshot if earlier else self._looks.get(target, (0.0, None))[1]
            if known is None:
                return
            look = replace(look, snapshot=known)
        if earlier is not None:
            look = replace(look, events=earlier.events + look.events)
        self._pending[target] = look
        self._work.set()

    async def annotate(self, change: Change) -> None:
        """Keep a change told by hand; a second one of the same id is the first, told again. StoreError."""
        if not await self._in_store(lambda: self._store.add(change, self._posts)):
            return
        self._recent[change.target].append(change)
        self._count(change)
        if MAINTENANCE in change.tags:
            self._maintenance[change.id] = change
        self._wake_poster()

    async def finish(self, change_id: str, end: float, failed: str = "") -> Change | None:
        """End a region; None if no region of that id is open. StoreError if it cannot be kept."""
        change = await self._in_store(lambda: self._store.finish(change_id, end, failed, self._posts))
        self._maintenance.pop(change_id, None)
        self._wake_poster()
        return change

    async def find(self, wanted: Filter) -> list[Change]:
        """Changes, the newest first. StoreError if the history cannot be read."""
        return await self._in_store(lambda: self._store.find(wanted))

    def recent(self, target: str) -> list[Change]:
        """Changes of a target that stand in the metrics, with the annotations that concern all targets."""
        oldest = time.time() - self.config.recent
        for_all = [change for change in self._recent[""] if change.kind == ANNOTATION] if target else []
        return [change for change in [*self._recent[target], *for_all] if change.at >= oldest]

    def totals(self, target: str) -> dict[str, int]:
        """Changes so far, by kind."""
        return {kind: count for (name, kind), count in self._totals.items() if name == target}

    def in_maintenance(self, target: str) -> bool:
        """Whether maintenance of a target ('' for the machine), or of everything, is announced now."""
        oldest = time.time() - LONGEST_MAINTENANCE
        return any(
            change.target in ("", target) and change.at >= oldest for change in self._maintenance.values()
        )

    @property
    def _posts(self) -> bool:
        return self.config.grafana is not None

    def _start_poster(self) -> None:
        self._grafana = self.poster = None
        if self.config.grafana:
            # httpx comes with them: 5 MB for those who want annotations.
            from ase_exporter.changes.grafana import Grafana
            from ase_exporter.changes.poster import Poster

            self._grafana = Grafana(self.config.grafana)
            self.poster = Poster(self._store, self._grafana, self._in_store)
            self._spawn(self.poster.run(), _POSTER)

    def _wake_poster(self) -> None:
        if self.poster:
            self.poster.wake()

    def _spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("changes: unexpected error, no more are %s", task.get_name(), exc_info=error)

    async def _in_store(self, work: Callable[[], Result]) -> Result:
        try:
            result = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except StoreError as error:
            self.store_errors += 1
            if self.store_ok:
                log.error("state directory: %s; changes are kept in memory until it works again", error)
            self.store_ok = False
            # If the file was damaged it is a new one now, and every last look has to be written again.
            for target in self._looks:
                self._unsaved.setdefault(target, [])
            raise
        # On a full disk reading still works: only when all is written is all well.
        if not self.store_ok and not self._unsaved:
            log.info("state directory: works again")
            self.store_ok = True
        return result

    def _load(self) -> None:
        self._looks = self._store.looks()
        self._totals = self._store.totals()
        oldest = time.time() - self.config.recent
        for change in reversed(self._store.find(Filter(since=oldest, limit=100_000))):
            self._recent[change.target].append(change)
        begun = time.time() - LONGEST_MAINTENANCE
        announced = self._store.find(Filter(kind=ANNOTATION, text=MAINTENANCE, since=begun, limit=100_000))
        self._maintenance = {
            change.id: change for change in announced if change.end is None and MAINTENANCE in change.tags
        }

    async def _keep(self) -> None:
        """Compare and save as looks come in; tidy up now and then."""
        pruned = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._work.wait(), 5.0)
            self._work.clear()
            self._take_pending()
            try:
                await self._in_store(self._save)
                if time.monotonic() - pruned > PRUNE_INTERVAL:
                    pruned = time.monotonic()
                    await self._in_store(self._prune)
                self.queued = await self._in_store(self._store.queued)
            except StoreError:
                await asyncio.sleep(1.0)
            self._wake_poster()

    def _take_pending(self) -> None:
        pending, self._pending = self._pending, {}
        for target, look in pending.items():
            changes = self._compare(target, look)
            self._unsaved.setdefault(target, []).extend(changes)
            for change in changes:
                self._recent[target].append(change)
                self._count(change)
                log.info("%s: %s", target or HOST, change.describe())

    def _compare(self, target: str, look: Look) -> list[Change]:
        if look.snapshot is None:
            return []
        new = decode(look.snapshot)
        seen_at, old_bytes = self._looks.get(target, (look.at, None))
        old: Snapshot = {}
        if old_bytes is not None:
            try:
                old = decode(old_bytes)
            except ValueError as error:
                log.error("the last look at %s is lost (%s); this one is the new baseline", target, error)
        merged = merge(old, new)
        self._looks[target] = (look.at, encode(merged))
        if not old:
            return []
        return from_differences(
            target,
            compare(old, new),
            at=look.at,
            not_before=min(seen_at, look.at),
            moments=dict(look.moments),
            events=look.events,
        )

    def _save(self) -> None:
        for target in list(self._unsaved):
            self._store.record(target, *self._looks[target], self._unsaved[target], self._posts)
            del self._unsaved[target]
        confirmed, self._confirmed = self._confirmed, {}
        if confirmed:
            self._store.looked(confirmed)

    def _prune(self) -> None:
        before = time.time() - self.config.keep
        given_up = self._store.prune(before, self.config.keep_most)
        if given_up:
            log.error("Grafana was away for too long: %d annotations are given up", given_up)
        self.given_up += given_up

    def _count(self, change: Change) -> None:
        key = (change.target, change.kind)
        self._totals[key] = self._totals.get(key, 0) + 1

    async def _watch_host(self) -> None:
        while True:
            if self._host:
                self.on_look("", await asyncio.to_thread(self._host.look))
            # Twice as often as promised: who reads the metrics comes later still.
            await asyncio.sleep(self.config.interval / 2)
