"""The journal of changes in the web process: compares snapshots, keeps the history, feeds metrics and Grafana.

What the metrics need stays in memory. All disk access runs on one separate thread, so that a slow or full disk never
delays a scrape.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ase_exporter.changes.change import ANNOTATION, HOST, Change, from_differences
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.snapshot import ConfigSnapshot, Parts, bounded, compare, decode, encode, merge
from ase_exporter.changes.store import ChangeFilter, Store, StoreError, open_store
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config.changes import ChangesConfig

if TYPE_CHECKING:
    from ase_exporter.changes.grafana import Poster

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Maximum number of changes of one target in the metrics.
MAX_RECENT = 50
# Of one kind and snapshot: more than whoever administers a server changes in an interval.
MAX_OF_KIND = 500
# An annotation with this tag announces maintenance until it is finished, for MAX_MAINTENANCE seconds at most: one
# that is never finished must not mute alerts for ever.
MAINTENANCE = "maintenance"
MAX_MAINTENANCE = 86400.0
PRUNE_INTERVAL = 600.0
# Seconds between two clocks from which on the wall clock was set; less is drift.
CLOCK_TOLERANCE = 1.0
_POSTER = "posts to Grafana"


class Journal:
    """One per process; `configure` applies a reloaded configuration."""

    def __init__(
        self,
        config: ChangesConfig,
        directory: Path | None,
        host: HostWatcher | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.config = config
        self._clock = clock
        self._store: Store = open_store(directory)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._host = host
        self.poster: Poster | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_snapshots: dict[str, tuple[float, bytes]] = {}
        # The monotonic times of the last snapshots that this process has seen.
        self._taken: dict[str, float | None] = {}
        self._pending: dict[str, ConfigSnapshot] = {}
        self._unsaved: dict[str, list[Change]] = {}
        self._confirmed: dict[str, float] = {}
        self._recent: defaultdict[str, deque[Change]] = defaultdict(lambda: deque(maxlen=MAX_RECENT))
        self._totals: dict[tuple[str, str], int] = {}
        self._maintenance: dict[str, Change] = {}
        self._work = asyncio.Event()
        self.store_errors = 0
        self.store_ok = True

    async def start(self) -> None:
        """Load the history and start the background tasks. A history that cannot be read is left out."""
        with contextlib.suppress(StoreError):
            await self._in_store(self._load)
        self._spawn(self._keep(), "saves changes")
        self._spawn(self._watch_host(), "watches this host")
        self._start_poster()

    async def stop(self) -> None:
        """Save what can be saved, and stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(StoreError):
            await self._in_store(self._save)
        await self._in_store(self._store.close)
        self._executor.shutdown()

    async def configure(self, config: ChangesConfig, host: HostWatcher | None) -> None:
        """Apply a new configuration."""
        changed = config.grafana != self.config.grafana
        self.config = config
        self._host = host
        if changed:
            for task in [task for task in self._tasks if task.get_name() == _POSTER]:
                task.cancel()
            self._start_poster()

    def on_snapshot(self, target: str, snapshot: ConfigSnapshot) -> None:
        """Queue a snapshot of a target ('' for the host) for comparison; returns at once."""
        _, known = self._last_snapshots.get(target, (0.0, None))
        earlier = self._pending.get(target)
        if earlier is not None:
            snapshot = replace(snapshot, events=earlier.events + snapshot.events)
        elif snapshot.encoded_parts == known and not snapshot.events and target not in self._unsaved:
            # The usual case takes neither a comparison nor a transaction of its own.
            self._last_snapshots[target] = (snapshot.at, known)
            self._confirmed[target] = snapshot.at
            self._taken[target] = snapshot.monotonic
            return
        self._pending[target] = snapshot
        self._work.set()

    async def annotate(self, change: Change) -> None:
        """Add a user's annotation; one with a known id is ignored as a repetition. Raises StoreError."""
        if not await self._in_store(lambda: self._store.add(change)):
            return
        self._note(change)
        if MAINTENANCE in change.tags:
            oldest = self._clock.time() - MAX_MAINTENANCE
            open_ones = (*self._maintenance.values(), change)
            self._maintenance = {each.id: each for each in open_ones if each.at >= oldest}

    async def finish(self, change_id: str, end: float, failed: str = "") -> Change | None:
        """End a region; None if no annotation has that id. Raises StoreError if it cannot be saved."""
        change = await self._in_store(lambda: self._store.finish(change_id, end, failed))
        self._maintenance.pop(change_id, None)
        return change

    async def find(self, wanted: ChangeFilter) -> list[Change]:
        """Changes, the newest first. Raises StoreError if the history cannot be read."""
        return await self._in_store(lambda: self._store.find(wanted))

    def recent(self, target: str) -> list[Change]:
        """The changes of a target that its metrics show, with the annotations for all targets."""
        oldest = self._clock.time() - self.config.recent
        for_all = [each for each in self._recent.get("", ()) if each.kind == ANNOTATION] if target else []
        return [change for change in [*self._recent.get(target, ()), *for_all] if change.at >= oldest]

    def totals(self, target: str) -> dict[str, int]:
        """Number of changes so far, by kind."""
        return {kind: count for (name, kind), count in self._totals.items() if name == target}

    def in_maintenance(self, target: str) -> bool:
        """Whether maintenance of a target ('' for the host), or of all, is announced now."""
        oldest = self._clock.time() - MAX_MAINTENANCE
        return any(
            change.target in ("", target) and change.at >= oldest for change in self._maintenance.values()
        )

    def _start_poster(self) -> None:
        self.poster = None
        if self.config.grafana:
            # Imported here because it loads httpx2, 5 MB.
            from ase_exporter.changes import grafana

            self.poster = grafana.Poster(self.config.grafana)
            self._spawn(self._post(self.poster, grafana.INTERVAL), _POSTER)

    async def _post(self, poster: "Poster", interval: float) -> None:
        while True:
            recent = ChangeFilter(since=self._clock.time() - self.config.recent)
            with contextlib.suppress(StoreError):
                await poster.post(reversed(await self.find(recent)))
            await asyncio.sleep(interval)

    def _spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error(
                "changes: unexpected error, the task that %s has stopped", task.get_name(), exc_info=error
            )

    async def _in_store(self, work: Callable[[], Result]) -> Result:
        try:
            result = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except StoreError as error:
            self.store_errors += 1
            if self.store_ok:
                log.error("state directory: %s; changes are kept in memory until it works again", error)
            self.store_ok = False
            # A damaged file has been replaced by a new one, so every target's snapshot has to be written again.
            for target in self._last_snapshots:
                self._unsaved.setdefault(target, [])
            raise
        # Reading works on a full disk, too: the store works again only when everything is written.
        if not self.store_ok and not self._unsaved:
            log.info("state directory: can be written again")
            self.store_ok = True
        return result

    def _load(self) -> None:
        self._last_snapshots = self._store.last_snapshots()
        self._totals = self._store.totals()
        oldest = self._clock.time() - self.config.recent
        for change in reversed(self._store.find(ChangeFilter(since=oldest, limit=100_000))):
            self._recent[change.target].append(change)
        begun = self._clock.time() - MAX_MAINTENANCE
        announced = self._store.find(
            ChangeFilter(kind=ANNOTATION, text=MAINTENANCE, since=begun, limit=100_000)
        )
        self._maintenance = {
            change.id: change for change in announced if change.end is None and MAINTENANCE in change.tags
        }

    async def _keep(self) -> None:
        """Compare and save snapshots as they arrive; prune the history at an interval."""
        pruned = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._work.wait(), 5.0)
            self._work.clear()
            self._take_pending()
            try:
                await self._in_store(self._save)
                if self._clock.monotonic() - pruned > PRUNE_INTERVAL:
                    pruned = self._clock.monotonic()
                    await self._in_store(self._prune)
            except StoreError:
                await asyncio.sleep(1.0)

    def _take_pending(self) -> None:
        pending, self._pending = self._pending, {}
        for target, snapshot in pending.items():
            _, known = self._last_snapshots.get(target, (0.0, None))
            changes = self._compare(target, snapshot)
            if changes or target in self._unsaved or self._last_snapshots[target][1] != known:
                self._unsaved.setdefault(target, []).extend(changes)
            else:
                self._confirmed[target] = snapshot.at
            for change in changes:
                self._note(change)
                log.info("%s: %s", target or HOST, change.describe())

    def _compare(self, target: str, snapshot: ConfigSnapshot) -> list[Change]:
        new = decode(snapshot.encoded_parts)
        seen_at, old_bytes = self._last_snapshots.get(target, (snapshot.at, None))
        old: Parts = {}
        if old_bytes is not None:
            try:
                old = decode(old_bytes)
            except ValueError as error:
                log.error(
                    "the last snapshot of %s cannot be read (%s); this one is the new baseline", target, error
                )
        not_before = self._not_before(target, snapshot, seen_at)
        self._taken[target] = snapshot.monotonic
        merged = merge(old, new)
        self._last_snapshots[target] = (snapshot.at, encode(merged))
        if not old:
            return []
        differences = compare(old, new)
        kept = bounded(differences, MAX_OF_KIND)
        if lost := len(differences) - len(kept):
            log.warning("%s: %d changes of one snapshot are left out", target or HOST, lost)
        return from_differences(target, kept, snapshot, not_before)

    def _not_before(self, target: str, snapshot: ConfigSnapshot, seen_at: float) -> float:
        """The time of the last snapshot by the clock of this one, which may have been set in between."""
        taken = self._taken.get(target)
        if taken is not None and snapshot.monotonic is not None:
            by_monotonic = snapshot.at - max(0.0, snapshot.monotonic - taken)
            if abs(by_monotonic - seen_at) > CLOCK_TOLERANCE:
                return by_monotonic
        return min(seen_at, snapshot.at)

    def _save(self) -> None:
        for target in list(self._unsaved):
            self._store.record(target, *self._last_snapshots[target], self._unsaved[target])
            del self._unsaved[target]
        confirmed, self._confirmed = self._confirmed, {}
        if confirmed:
            self._store.confirm_unchanged(confirmed)

    def _prune(self) -> None:
        # A clock that is far ahead must not erase the history: what is old is old compared with the newest change.
        newest = self._store.find(ChangeFilter(limit=1))
        before = min(self._clock.time(), newest[0].at if newest else 0.0) - self.config.retention
        self._store.prune(before, self.config.max_changes)

    def _note(self, change: Change) -> None:
        self._recent[change.target].append(change)
        key = (change.target, change.kind)
        self._totals[key] = self._totals.get(key, 0) + 1

    async def _watch_host(self) -> None:
        while True:
            if self._host:
                self.on_snapshot("", await asyncio.to_thread(self._host.take_snapshot))
            # Half the interval: the scrape that shows a change comes later still.
            await asyncio.sleep(self.config.interval / 2)
