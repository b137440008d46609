"""A stand-in for Grafana's annotation API that checks token and payload and can be made to misbehave.

Not Grafana: it keeps annotations in memory, in the order in which they arrived.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.planted import GRAFANA

TOKEN = GRAFANA
Mood = Literal["ok", "500", "401", "hang", "hang_then_store", "store_then_500", "store_then_drop"]
HANG = 1.0


class GrafanaStandIn:
    """mood: how it answers now. annotations: what it has. answers: (method, status) of all answers.

    hang: seconds until it goes on after it hung, unless let_go is set before.
    """

    def __init__(self, port: int = 0) -> None:
        self.mood: Mood = "ok"
        self.annotations: list[dict[str, Any]] = []
        self.answers: list[tuple[str, int]] = []
        self.hang = HANG
        self.let_go = threading.Event()
        self._next = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"grafana": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nothing listens for a while; what it has stays."""
        self.close()
        yield
        restarted = GrafanaStandIn(self.port)
        self._server, self._thread = restarted._server, restarted._thread
        self._server.RequestHandlerClass = type("Handler", (_Handler,), {"grafana": self})

    def store(self, body: dict[str, Any]) -> int:
        with self._lock:
            self._next += 1
            self.annotations.append({"id": self._next, **body})
            return self._next

    def texts(self) -> list[str]:
        return [annotation["text"] for annotation in self.annotations]


class _Handler(BaseHTTPRequestHandler):
    grafana: GrafanaStandIn
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self._body()
        mood = self.grafana.mood
        if not self._may_go_on(mood):
            return
        problem = _problem(body)
        if problem:
            self._answer(400, {"message": problem})
            return
        if mood == "hang":
            self.grafana.let_go.wait(self.grafana.hang)
            self.close_connection = True
            return
        if mood == "hang_then_store":
            self.grafana.let_go.wait(self.grafana.hang)
        number = self.grafana.store(body)
        if mood == "store_then_500":
            self._answer(500, {"message": "stored all the same"})
        elif mood == "store_then_drop":
            self.close_connection = True
        else:
            self._answer(200, {"id": number, "message": "Annotation added"})

    def do_GET(self) -> None:
        if not self._may_go_on(self.grafana.mood):
            return
        wanted = parse_qs(urlsplit(self.path).query).get("tags", [])
        found = [a for a in reversed(self.grafana.annotations) if set(wanted) <= set(a["tags"])]
        self._answer(200, found)

    def do_PATCH(self) -> None:
        body = self._body()
        if not self._may_go_on(self.grafana.mood):
            return
        for annotation in self.grafana.annotations:
            if str(annotation["id"]) == self.path.rpartition("/")[2]:
                annotation.update(body)
                self._answer(200, {"message": "Annotation patched"})
                return
        self._answer(404, {"message": "not found"})

    def do_DELETE(self) -> None:
        if not self._may_go_on(self.grafana.mood):
            return
        number = int(self.path.rpartition("/")[2])
        with self.grafana._lock:
            self.grafana.annotations[:] = [a for a in self.grafana.annotations if a["id"] != number]
        self._answer(200, {"message": "Annotation deleted"})

    def _may_go_on(self, mood: Mood) -> bool:
        if mood == "401" or self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"message": "Unauthorized"})
            return False
        if mood == "500":
            self._answer(500, {"message": "Internal error"})
            return False
        if not urlsplit(self.path).path.startswith("/api/annotations"):
            self._answer(404, {"message": "not found"})
            return False
        return True

    def _body(self) -> dict[str, Any]:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            loaded: dict[str, Any] = json.loads(data)
        except ValueError:
            # The client was killed in the middle of it.
            return {}
        return loaded

    def _answer(self, status: int, body: object) -> None:
        self.grafana.answers.append((self.command, status))
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


def _problem(body: dict[str, Any]) -> str:
    """What Grafana would say about a payload: times in milliseconds, text, tags that are words."""
    if not isinstance(body.get("time"), int) or body["time"] < 1_000_000_000_000:
        return "time: expected milliseconds"
    if not isinstance(body.get("text"), str) or not body["text"]:
        return "text: expected something"
    tags = body.get("tags")
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
        return "tags: expected words"
    if "timeEnd" in body and body["timeEnd"] < body["time"]:
        return "timeEnd: before time"
    return ""
