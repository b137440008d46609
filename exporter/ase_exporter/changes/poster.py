"""The task that posts queued annotations to Grafana, in order, each once, with retries."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ase_exporter.changes.grafana import ForbiddenError, Grafana, GrafanaError, RejectedError
from ase_exporter.changes.store import Post, Store, StoreError
from ase_exporter.errors import UserError

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_UNEXPECTED = "unexpected error, see the log"
FIRST_BACKOFF = 0.5
# Grafana may still carry out a request that timed out; the check for a duplicate comes after so many timeouts.
SETTLE_TIMEOUTS = 6


class InStore(Protocol):
    """Runs work on the store's thread."""

    def __call__(self, work: Callable[[], Result]) -> Awaitable[Result]: ...


class Poster:
    """Posts one queue to one Grafana.

    failures: number of failed tries. rejected: number of annotations that Grafana rejected for good. last_error: ''
    or why the last try failed.
    """

    def __init__(self, store: Store, grafana: Grafana, in_store: InStore) -> None:
        self._store = store
        self._grafana = grafana
        self._in_store = in_store
        self._settle = SETTLE_TIMEOUTS * grafana.config.timeout
        self._max_backoff = grafana.config.max_backoff
        self._wakeup = asyncio.Event()
        self.failures = 0
        self.rejected = 0
        self.last_error = ""

    def wake(self) -> None:
        """Check the queue now; call on the event loop."""
        self._wakeup.set()

    async def run(self) -> None:
        """Post until cancelled."""
        first_backoff = min(FIRST_BACKOFF, self._max_backoff)
        backoff = first_backoff
        while True:
            self._wakeup.clear()
            try:
                if await self.step():
                    backoff = first_backoff
                    self.last_error = ""
                    continue
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wakeup.wait(), self._settle / 4)
                continue
            except (GrafanaError, UserError, StoreError) as error:
                self._note_failure(str(error))
            except Exception:
                # A bug, or an answer that nobody thought of, must not end the delivery of all others.
                if self.last_error != _UNEXPECTED:
                    log.exception("unexpected error, annotations queued")
                    self.last_error = _UNEXPECTED
                self._note_failure(_UNEXPECTED)
            await asyncio.sleep(backoff * random.uniform(0.5, 1.0))
            backoff = min(backoff * 2, self._max_backoff)

    def _note_failure(self, error: str) -> None:
        self.failures += 1
        if error != self.last_error:
            log.warning("Grafana unreachable, annotations queued: %s", error)
            self.last_error = error

    async def step(self) -> bool:
        """Deliver one post; False if none is due. Raises GrafanaError, UserError or StoreError."""
        post = await self._in_store(lambda: self._store.next_post(time.time()))
        if post is None:
            return False
        try:
            await self._deliver(post)
        except RejectedError as error:
            self.rejected += 1
            log.error("Grafana rejected the annotation of change %s: %s", post.change.id, error)
            await self._in_store(lambda: self._store.end_post(post, None))
        return True

    async def _deliver(self, post: Post) -> None:
        if post.action == "finish":
            await self._finish(post)
        elif post.grafana_id is not None:
            await self._delete_duplicates(post)
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
        # Without an id Grafana rejected the annotation, so there is no region to end.
        if post.grafana_id is not None:
            await self._grafana.finish(post.grafana_id, post.change)
        await self._in_store(lambda: self._store.end_post(post, post.grafana_id))

    async def _delete_duplicates(self, post: Post) -> None:
        found = await self._grafana.find(post.change.id)
        try:
            for duplicate in found:
                if duplicate != post.grafana_id and post.grafana_id in found:
                    await self._grafana.delete(duplicate)
        except ForbiddenError as error:
            log.warning("Grafana has change %s more than once: %s", post.change.id, error)
        await self._in_store(lambda: self._store.end_post(post, post.grafana_id))
