"""Annotations in Grafana, through its HTTP API: each at least once.

The API has no idempotency key. So each annotation has a tag of its own, by which it is searched before it is posted.
"""

import asyncio
import logging
import random
from typing import Any

import httpx2

from ase_exporter.changes.change import Change
from ase_exporter.config.changes import GrafanaConfig
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.regular_files import trusting
from ase_exporter.untrusted import encoders
from ase_exporter.untrusted.answers import ask, no_answer
from ase_exporter.untrusted.entry import load_json, one_line

log = logging.getLogger(__name__)

# Bytes and seconds of one answer.
MAX_ANSWER, TIMEOUT = 4 << 20, 5.0
# Annotations that wait; beyond, those that have waited longest are dropped, and counted.
QUEUE_LIMIT = 1000
FIRST_PAUSE, MAX_PAUSE = 0.5, 60.0
# Of the status codes from 400 to 499, those after which the same request may succeed: a token can be repaired.
_TEMPORARY = frozenset({401, 403, 408, 425, 429})


class RejectedError(AseExporterError):
    """Grafana will never take this annotation."""


class Poster:
    """Posts changes to one Grafana. One that fails waits behind all others.

    failures: number of failed tries. lost: number of annotations that Grafana rejected, or that were too many to wait.
    transport: replaces the network in tests.
    """

    def __init__(self, config: GrafanaConfig, transport: httpx2.BaseTransport | None = None) -> None:
        self._config = config
        verify = trusting(config.ca_file) if config.ca_file else True
        self._client = httpx2.Client(base_url=config.url, verify=verify, transport=transport)
        self._waiting: dict[str, Change] = {}
        self._arrival = asyncio.Event()
        self.failures = 0
        self.lost = 0

    @property
    def queued(self) -> int:
        """The number of annotations that Grafana has not got yet."""
        return len(self._waiting)

    def add(self, change: Change) -> None:
        """Queue a change. A region that has ended replaces its beginning, if that still waits."""
        self._waiting[change.id] = change
        self._arrival.set()
        if len(self._waiting) > QUEUE_LIMIT:
            del self._waiting[next(iter(self._waiting))]
            self.lost += 1

    async def run(self) -> None:
        """Post until cancelled."""
        pause, last_problem = FIRST_PAUSE, ""
        while True:
            self._arrival.clear()
            if not self._waiting:
                last_problem = ""
                await self._arrival.wait()
            change = next(iter(self._waiting.values()))
            problem = await self._deliver(change)
            # It may have been replaced, or dropped, in between.
            if self._waiting.get(change.id) is change:
                del self._waiting[change.id]
                if problem:
                    self._waiting[change.id] = change
            if not problem:
                pause = FIRST_PAUSE
                continue
            self.failures += 1
            if problem != last_problem:
                log.warning("annotations wait for Grafana: %s", problem)
            last_problem = problem
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, MAX_PAUSE)

    async def _deliver(self, change: Change) -> str:
        """Post a change; returns '', or why it has to be tried again."""
        try:
            await asyncio.to_thread(self._post, change)
        except RejectedError as error:
            self.lost += 1
            log.error("Grafana rejected the annotation of change %s: %s", change.id, error)
        except UserError as error:
            return str(error)
        except httpx2.HTTPError as error:
            return no_answer(error)
        except Exception:
            # A bug, or an answer that nobody thought of, must not end the delivery of all others.
            log.exception("unexpected error, annotations wait")
            return "unexpected error"
        return ""

    def _post(self, change: Change) -> None:
        """Post a change that Grafana does not have."""
        self._client.headers["Authorization"] = f"Bearer {self._config.read_token()}"
        body = payload(change)
        if not self._ask("GET", params={"tags": body["tags"][-1], "type": "annotation", "limit": "1"}):
            self._ask("POST", json=body)

    def _ask(self, method: str, **content: Any) -> Any:
        """What Grafana answers. Raises RejectedError, and UserError or HTTPError for what may succeed later."""
        limits = {"max_bytes": MAX_ANSWER, "seconds": TIMEOUT}
        status, body = ask(self._client, method, "/api/annotations", **limits, **content)
        if httpx2.codes.is_client_error(status) and status not in _TEMPORARY:
            raise RejectedError(f"HTTP {status}: {one_line(body[:200].decode(errors='replace'))}")
        if not httpx2.codes.is_success(status):
            refused = f": the token may not {method} annotations" if status in (401, 403) else ""
            raise UserError(f"HTTP {status}{refused}")
        try:
            answer = load_json(body)
        except ValueError:
            answer = None
        # A proxy that asks for a login answers 200, too.
        if not (isinstance(answer, list) if method == "GET" else isinstance(answer, dict) and "id" in answer):
            raise UserError("unexpected answer; is the address that of Grafana?")
        return answer


def payload(change: Change) -> dict[str, Any]:
    """The body of a request to Grafana's API; times in milliseconds. The last tag is of this annotation alone."""
    own_tags = [f"change:{change.id}"]
    body: dict[str, Any] = {
        "time": round(change.at * 1000),
        "text": change.describe() if change.source == "user" else encoders.grafana(change.describe()),
    }
    if change.end is not None:
        body["timeEnd"] = round(change.end * 1000)
        own_tags.append(f"finished:{change.id}")
    all_tags = ["ase-exporter", change.kind, *change.tags]
    if change.target:
        all_tags.append(f"target:{change.target}")
    if change.failed:
        all_tags.append("failed")
    return body | {"tags": [*dict.fromkeys(all_tags), *own_tags]}
