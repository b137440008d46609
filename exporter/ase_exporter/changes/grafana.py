"""Annotations through Grafana's HTTP API (`/api/annotations`), each exactly once.

Grafana's API has no idempotency key. So every annotation carries a tag with its change's id. A post whose outcome is
unknown is searched by that tag before it is repeated, and a duplicate that arrived late is found and deleted.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import httpx2

from ase_exporter.changes.change import Change
from ase_exporter.changes.store import Post, Store, StoreError
from ase_exporter.config.changes import GrafanaConfig
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.regular_files import trusting
from ase_exporter.untrusted import encoders
from ase_exporter.untrusted.answers import PLAIN, BoundedBody
from ase_exporter.untrusted.entry import load_json, one_line

log = logging.getLogger(__name__)

Result = TypeVar("Result")
PATH = "/api/annotations"
# Bytes. A hundred annotations are much less.
MAX_ANSWER = 4 << 20
# Status codes after which a repetition would fail, too.
_PERMANENT = frozenset({400, 413, 415, 422})
_UNUSABLE = "expected annotations with an id in the answer; is the address that of Grafana?"
_UNEXPECTED = "unexpected error, see the log"
FIRST_BACKOFF = 0.5
# Grafana may still carry out a request that timed out; the check for a duplicate comes after so many timeouts.
SETTLE_TIMEOUTS = 6


class GrafanaError(AseExporterError):
    """A request failed but may succeed later: Grafana is unavailable or failing, or the token is not valid."""


class ForbiddenError(GrafanaError):
    """The token is unknown, or lacks the permission."""


class RejectedError(AseExporterError):
    """Grafana rejects this annotation for good."""


class Grafana:
    """A client of one Grafana. transport: replaces the network in tests."""

    def __init__(self, config: GrafanaConfig, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.config = config
        verify = trusting(config.ca_file) if config.ca_file else True
        self._client = httpx2.AsyncClient(
            base_url=config.url, timeout=config.timeout, verify=verify, transport=transport
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def create(self, change: Change) -> int:
        """Post an annotation and return its id. Raises GrafanaError (it may have arrived) or RejectedError."""
        answer = await self._ask("POST", PATH, json=payload(change, self.config.tags))
        return _usable_id(answer)

    async def find(self, change_id: str) -> list[int]:
        """The ids of all annotations of a change, the first one first. Raises as `create` does."""
        parameters = {"tags": _id_tag(change_id), "type": "annotation", "limit": "100"}
        answer = await self._ask("GET", PATH, params=parameters)
        if not isinstance(answer, list):
            raise GrafanaError(_UNUSABLE)
        return sorted(map(_usable_id, answer))

    async def finish(self, grafana_id: int, change: Change) -> None:
        """Turn an annotation into a region, with its last text and tags. Idempotent."""
        await self._ask("PATCH", f"{PATH}/{grafana_id}", json=payload(change, self.config.tags))

    async def delete(self, grafana_id: int) -> None:
        """Delete an annotation. Raises as `create` does."""
        await self._ask("DELETE", f"{PATH}/{grafana_id}")

    async def _ask(self, method: str, path: str, **content: Any) -> Any:
        headers = {**PLAIN, "Authorization": f"Bearer {self.config.read_token()}"}
        try:
            # httpx2's own timeout begins again with each piece of an answer.
            async with asyncio.timeout(self.config.timeout):
                status, body = await self._exchange(method, path, headers=headers, **content)
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise GrafanaError(f"no answer within {self.config.timeout:g} s") from error
        except httpx2.HTTPError as error:
            raise GrafanaError(str(error) or type(error).__name__) from error
        if status in (401, 403):
            raise ForbiddenError(f"HTTP {status}: the token may not {method} annotations")
        if status in _PERMANENT:
            raise RejectedError(f"HTTP {status}: {one_line(body[:200].decode(errors='replace'))}")
        if not httpx2.codes.is_success(status):
            raise GrafanaError(f"HTTP {status}")
        try:
            return load_json(body)
        except ValueError as error:
            raise GrafanaError("expected JSON in the answer; is the address that of Grafana?") from error

    async def _exchange(self, method: str, path: str, **content: Any) -> tuple[int, bytes]:
        """Send a request; returns status and body. Raises httpx2.HTTPError, also for a body that is too large."""
        async with self._client.stream(method, path, **content) as response:
            body = BoundedBody(response, MAX_ANSWER)
            async for part in response.aiter_bytes():
                body.take(part)
        return response.status_code, bytes(body.content)


def _usable_id(annotation: object) -> int:
    """The id of an annotation. Raises GrafanaError if it has none that can be stored and used in an address."""
    number = annotation.get("id") if isinstance(annotation, dict) else None
    if type(number) is not int or not 0 < number < 2**63:
        raise GrafanaError(_UNUSABLE)
    return number


def _id_tag(change_id: str) -> str:
    return f"change:{change_id}"


def payload(change: Change, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    """The body of a request to Grafana's API; times in milliseconds."""
    all_tags = ["ase-exporter", change.kind, *change.tags, *tags]
    if change.target:
        all_tags.append(f"target:{change.target}")
    if change.failed:
        all_tags.append("failed")
    body: dict[str, Any] = {
        "time": round(change.at * 1000),
        "text": change.describe() if change.source == "user" else encoders.grafana(change.describe()),
        "tags": [*dict.fromkeys(all_tags), _id_tag(change.id)],
    }
    if change.end is not None:
        body["timeEnd"] = round(change.end * 1000)
    return body


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
