"""A webhook receiver of Alertmanager's notifications.

`python -m ase_simulator.demo.webhook PORT` prints one line per alert: receiver, status, name, server.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Notification:
    """One alert of one notification. received: Unix time; receiver: path of the webhook URL."""

    received: float
    receiver: str
    status: str
    group: dict[str, str]
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def name(self) -> str:
        return self.labels.get("alertname", "")


def print_one(alert: Notification) -> None:
    """Print a line for an alert."""
    print(alert.receiver, alert.status, alert.name, alert.labels.get("instance", ""), flush=True)


@contextmanager
def receiving(host: str, port: int, take: Callable[[Notification], None] = print_one) -> Iterator[int]:
    """Listen on host:port (0 picks a free one) during the block; yields the port.

    take: is called with each alert as it arrives, from several threads.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES)
            try:
                alerts = _alerts(self.path.strip("/"), self.rfile.read(length))
                self.send_response(200)
            except (ValueError, KeyError, TypeError):
                alerts = []
                self.send_response(400)
            for alert in alerts:
                take(alert)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Do not log requests."""

    with ThreadingHTTPServer((host, port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


def _alerts(receiver: str, body: bytes) -> list[Notification]:
    message, received = json.loads(body), time.time()
    return [
        Notification(
            received, receiver, each["status"], message["groupLabels"], each["labels"], each["annotations"]
        )
        for each in message["alerts"]
    ]


if __name__ == "__main__":
    with receiving("0.0.0.0", int(sys.argv[1])):
        threading.Event().wait()
