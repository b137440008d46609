"""Empties the queue into Grafana: in order, each annotation once, for as long as it takes."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ase_exporter.changes.grafana import ForbiddenError, Grafana, GrafanaError, RefusedError
from ase_exporter.changes.store import Post, Store, StoreError
from ase_exporter.errors import UserError

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_PAUSE = 0.5
# A request that was given up may still be carried out; after so many timeouts it is checked whether it was.
SETTLE_TIMEOUTS = 6


class InStore(Protocol):
    """Runs work on the thread that the store belongs to."""

    def __call__(self, work: Callable[[], Result]) -> Awaitable[Result]: ...


class Poster:
    """One queue, one Grafana. wake() tells that there may be something new.

    failures: tries that did not succeed; refused: annotations that Grafana will never take; last_error: '' or
    why the last try failed.
    """

    def __init__(self, store: Store, grafana: Grafana, in_store: InStore) -> None:
        self._store = store
        self._grafana = grafana
        self._in_store = in_store
        self._settle = SETTLE_TIMEOUTS * grafana.config.timeout
        self._longest_pause = grafana.config.longest_pause
        self._news = asyncio.Event()
        self.failures = 0
        self.refused = 0
        self.last_error = ""

    def wake(self) -> None:
        """Look at the queue now; call on the event loop."""
        self._news.set()

    async def run(self) -> None:
        """Post until cancelled."""
        first_pause = min(FIRST_PAUSE, self._longest_pause)
        pause = first_pause
        while True:
            self._news.clear()
            try:
                if await self.step():
                    pause = first_pause
                    self.last_error = ""
                    continue
                await self._wait(self._settle / 4)
            except (GrafanaError, UserError, StoreError) as error:
                self.failures += 1
                if str(error) != self.last_error:
                    log.warning("annotations wait: %s", error)
                    self.last_error = str(error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(pause * 2, self._longest_pause)

    async def step(self) -> bool:
        """Deliver one post; False if none is due. Raises what Grafana and Store raise."""
        post = await self._in_store(lambda: self._store.next_post(time.time()))
        if post is None:
            return False
        try:
            await self._deliver(post)
        except RefusedError as error:
            self.refused += 1
            log.error("Grafana refuses the annotation of change %s: %s", post.change.id, error)
            await self._in_store(lambda: self._store.end_post(post, None))
        return True

    async def _deliver(self, post: Post) -> None:
        if post.action == "finish":
            await self._finish(post)
        elif post.grafana_id is not None:
            await self._delete_doubles(post)
        else:
            await self._create(post)

    async def _create(self, post: Post) -> None:
        found = await self._grafana.find(post.change.id) if post.tries else []
        if found:
            grafana_id = found[0]
        else:
            await self._in_store(lambda: self._store.begin_post(post))
            grafana_id = await self._grafana.create(post.change)
        settle_at = time.time() + self._settle if post.tries else None
        await self._in_store(lambda: self._store.end_post(post, grafana_id, settle_at))

    async def _finish(self, post: Post) -> None:
        # Without an id Grafana had refused the beginning, so it gets no end.
        if post.grafana_id is not None:
            await self._grafana.finish(post.grafana_id, post.change)
        await self._in_store(lambda: self._store.end_post(post, post.grafana_id))

    async def _delete_doubles(self, post: Post) -> None:
        found = await self._grafana.find(post.change.id)
        try:
            for double in found:
                if double != post.grafana_id and post.grafana_id in found:
                    await self._grafana.delete(double)
        except ForbiddenError as error:
            log.warning("change %s stands in Grafana more than once: %s", post.change.id, error)
        await self._in_store(lambda: self._store.end_post(post, post.grafana_id))

    async def _wait(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return
