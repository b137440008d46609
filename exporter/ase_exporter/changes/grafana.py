"""Annotations through Grafana's HTTP API (`/api/annotations`), each exactly once.

Grafana takes no key that would make a post idempotent. So every annotation carries a tag with its change's
id; a post whose outcome is not known is looked up by that tag before it is tried again, and one that arrived
late besides its repetition is found and deleted.
"""

import ssl
from typing import Any

import httpx

from ase_exporter.changes.change import Change
from ase_exporter.changes.config import GrafanaConfig
from ase_exporter.errors import AseExporterError

PATH = "/api/annotations"
# Answers that say: never, whatever the number of tries.
_REFUSALS = frozenset({400, 413, 415, 422})


class GrafanaError(AseExporterError):
    """Grafana did not take it this time: away, busy, failing, or our token is not good."""


class ForbiddenError(GrafanaError):
    """The token is unknown, or lacks the permission."""


class RefusedError(AseExporterError):
    """Grafana will never take this annotation."""


class Grafana:
    """One Grafana. transport: replaces the network in tests."""

    def __init__(self, config: GrafanaConfig, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.config = config
        verify = ssl.create_default_context(cafile=config.ca_file) if config.ca_file else True
        self._client = httpx.AsyncClient(
            base_url=config.url, timeout=config.timeout, verify=verify, transport=transport
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def create(self, change: Change) -> int:
        """Post it; the annotation's id. GrafanaError (it may have arrived all the same), RefusedError."""
        answer = await self._ask("POST", PATH, json=payload(change, self.config.tags))
        return int(answer["id"])

    async def find(self, change_id: str) -> list[int]:
        """The ids of all annotations of a change, the first one first. Raises as `create` does."""
        return [int(annotation["id"]) for annotation in await self.fetch(change_id)]

    async def fetch(self, change_id: str) -> list[dict[str, Any]]:
        """All annotations of a change as Grafana has them, the first one first. Raises as `create` does."""
        parameters = {"tags": id_tag(change_id), "type": "annotation", "limit": "100"}
        answer = await self._ask("GET", PATH, params=parameters)
        return sorted(answer, key=lambda annotation: int(annotation["id"]))

    async def finish(self, grafana_id: int, change: Change) -> None:
        """Make a region of it, with its last text and tags; doing so twice does no harm."""
        await self.change(grafana_id, payload(change, self.config.tags))

    async def change(self, grafana_id: int, body: dict[str, Any]) -> None:
        """Change some fields of one. Raises as `create` does."""
        await self._ask("PATCH", f"{PATH}/{grafana_id}", json=body)

    async def delete(self, grafana_id: int) -> None:
        """Take one back. Raises as `create` does."""
        await self._ask("DELETE", f"{PATH}/{grafana_id}")

    async def _ask(self, method: str, path: str, **content: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.config.read_token()}"}
        try:
            response = await self._client.request(method, path, headers=headers, **content)
        except httpx.TimeoutException as error:
            raise GrafanaError(f"no answer within {self.config.timeout:g} s") from error
        except httpx.HTTPError as error:
            raise GrafanaError(str(error) or type(error).__name__) from error
        if response.status_code in (401, 403):
            raise ForbiddenError(f"HTTP {response.status_code}: the token may not {method} annotations")
        if response.status_code in _REFUSALS:
            raise RefusedError(f"HTTP {response.status_code}: {response.text[:200]}")
        if not response.is_success:
            raise GrafanaError(f"HTTP {response.status_code}")
        try:
            return response.json()
        except ValueError as error:
            raise GrafanaError("expected JSON in the answer; is the address that of Grafana?") from error


def id_tag(change_id: str) -> str:
    """The tag by which an annotation is found again."""
    return f"change:{change_id}"


def payload(change: Change, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    """An annotation as Grafana's API takes it; times in milliseconds."""
    marks = ["ase-exporter", change.kind, *change.tags, *tags]
    if change.target:
        marks.append(f"target:{change.target}")
    if change.failed:
        marks.append("failed")
    body: dict[str, Any] = {
        "time": round(change.at * 1000),
        "text": change.describe(),
        "tags": [*dict.fromkeys(marks), id_tag(change.id)],
    }
    if change.end is not None:
        body["timeEnd"] = round(change.end * 1000)
    return body
