"""A stand-in for Grafana's annotation API that checks token and payload and can be made to misbehave.

Not Grafana: it keeps annotations in memory, in the order in which they arrived.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any, Self
from urllib.parse import parse_qs, urlsplit

import msgspec
from tests.planted import GRAFANA

TOKEN = GRAFANA


class GrafanaStandIn:
    """fails: whether it answers 500 now. annotations: what it has."""

    def __init__(self) -> None:
        self.fails = False
        self.annotations: list[dict[str, Any]] = []
        self._next = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"grafana": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def store(self, body: dict[str, Any]) -> int:
        with self._lock:
            self._next += 1
            self.annotations.append({"id": self._next, **body})
            return self._next

    def texts(self) -> list[str]:
        return [annotation["text"] for annotation in self.annotations]


class Posted(msgspec.Struct):
    """What Grafana takes: times in milliseconds, text, tags that are words."""

    time: Annotated[int, msgspec.Meta(ge=1_000_000_000_000)]
    text: Annotated[str, msgspec.Meta(min_length=1)]
    tags: list[Annotated[str, msgspec.Meta(min_length=1)]]
    timeEnd: Annotated[int, msgspec.Meta(ge=1_000_000_000_000)] | None = None  # noqa: N815  # Grafana's name


class _Handler(BaseHTTPRequestHandler):
    grafana: GrafanaStandIn
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = urlsplit(self.path)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"message": "Unauthorized"})
        elif self.grafana.fails:
            self._answer(500, {"message": "Internal error"})
        elif not place.path.startswith("/api/annotations"):
            self._answer(404, {"message": "not found"})
        elif self.command == "POST":
            self._post(data)
        else:
            wanted = set(parse_qs(place.query).get("tags", []))
            self._answer(200, [a for a in reversed(self.grafana.annotations) if wanted <= set(a["tags"])])

    do_POST = do_GET = _handle  # noqa: N815  # http.server's names

    def _post(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            posted = msgspec.convert(body, Posted)
        except ValueError as error:
            # Also if the client was killed in the middle of it.
            self._answer(400, {"message": str(error)})
            return
        if posted.timeEnd is not None and posted.timeEnd < posted.time:
            self._answer(400, {"message": "timeEnd: before time"})
            return
        self._answer(200, {"id": self.grafana.store(body), "message": "Annotation added"})

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Quiet."""
