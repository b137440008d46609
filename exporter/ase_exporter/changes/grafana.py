"""Annotations in Grafana, through its HTTP API: each at least once.

The API has no idempotency key. So each annotation has a tag of its own, by which it is searched before it is posted.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import httpx2

from ase_exporter.changes.change import Change
from ase_exporter.config.changes import GrafanaConfig
from ase_exporter.errors import UserError
from ase_exporter.regular_files import trusting
from ase_exporter.untrusted import encoders
from ase_exporter.untrusted.answers import ask, no_answer
from ase_exporter.untrusted.entry import load_json, one_line

log = logging.getLogger(__name__)

# Seconds between two looks for what Grafana lacks, and of one answer; its bytes.
INTERVAL, TIMEOUT, MAX_ANSWER = 15.0, 5.0, 4 << 20
# Of the status codes from 400 to 499, those after which the same request may succeed: a token can be repaired.
_TEMPORARY = frozenset({401, 403, 408, 425, 429})


class Poster:
    """Posts to one Grafana. queued: annotations that it may lack. failures: tries. lost: annotations it rejected."""

    def __init__(self, config: GrafanaConfig) -> None:
        self._config = config
        verify = trusting(config.ca_file) if config.ca_file else True
        self._client = httpx2.Client(base_url=config.url, verify=verify)
        self._done = set[str]()
        self._tries: dict[str, int] = {}
        self.queued = self.failures = self.lost = 0

    async def post(self, changes: Iterable[Change]) -> None:
        """Post what Grafana may lack, until one fails: the next time that one comes behind all others."""
        annotations = {each["tags"][-1]: each for each in map(payload, changes)}
        self._done &= annotations.keys()
        self._tries = {tag: self._tries.get(tag, 0) for tag in annotations}
        waiting = [tag for tag in annotations if tag not in self._done]
        self.queued = len(waiting)
        for tag in sorted(waiting, key=self._tries.__getitem__):
            self._tries[tag] += 1
            try:
                await asyncio.to_thread(self._deliver, annotations[tag])
            except Exception as error:
                # Neither may a bug, or an answer that nobody thought of, end the delivery of all others.
                expected = isinstance(error, UserError | httpx2.HTTPError)
                problem = str(error) if isinstance(error, UserError) else no_answer(error)
                log.warning("annotations wait for Grafana: %s", problem, exc_info=not expected)
                self.failures += 1
                return
            self._done.add(tag)
            self.queued -= 1

    def _deliver(self, annotation: dict[str, Any]) -> None:
        self._client.headers["Authorization"] = f"Bearer {self._config.read_token()}"
        tag = annotation["tags"][-1]
        if self._ask("GET", tag, params={"tags": tag, "type": "annotation", "limit": "1"}) == []:
            self._ask("POST", tag, json=annotation)

    def _ask(self, method: str, tag: str, **content: Any) -> Any:
        """What Grafana answers, None if it rejects that for good. Raises UserError or HTTPError for all else."""
        limits = {"max_bytes": MAX_ANSWER, "seconds": TIMEOUT}
        status, body = ask(self._client, method, "/api/annotations", **limits, **content)
        if httpx2.codes.is_client_error(status) and status not in _TEMPORARY:
            self.lost += 1
            reason = one_line(body[:200].decode(errors="replace"))
            log.error("Grafana rejected the annotation %s: HTTP %d: %s", tag, status, reason)
            return None
        if not httpx2.codes.is_success(status):
            raise UserError(f"HTTP {status} to {method} of an annotation")
        # A proxy that asks for a login answers 200, too.
        with suppress(ValueError):
            answer = load_json(body)
            if isinstance(answer, list) if method == "GET" else isinstance(answer, dict) and "id" in answer:
                return answer
        raise UserError("unexpected answer; is the address that of Grafana?")


def payload(change: Change) -> dict[str, Any]:
    """The body of a request to Grafana's API; times in milliseconds. The last tag is of this annotation alone."""
    text = change.describe() if change.source == "user" else encoders.grafana(change.describe())
    all_tags = ["ase-exporter", change.kind, *change.tags]
    if change.target:
        all_tags.append(f"target:{change.target}")
    if change.failed:
        all_tags.append("failed")
    tags = [*dict.fromkeys(all_tags), f"change:{change.id}"]
    body: dict[str, Any] = {"time": round(change.at * 1000), "text": text, "tags": tags}
    if change.end is not None:
        body["timeEnd"] = round(change.end * 1000)
        tags.append(f"finished:{change.id}")
    return body
