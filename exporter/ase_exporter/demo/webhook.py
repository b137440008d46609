"""A webhook receiver that keeps Alertmanager's notifications, to show and to wait for them.

`python -m ase_exporter.demo.webhook PORT` prints one line per alert: receiver, status, name, server.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from ase_exporter.untrusted.entry import load_json

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


class Webhook:
    """Listens on host:port (0 picks a free one) while the block is active.

    show: called with the alerts of each message as it arrives.
    """

    def __init__(
        self, host: str, port: int = 0, show: Callable[[Sequence[Notification]], None] = lambda alerts: None
    ) -> None:
        self._arrived = threading.Condition()
        self._show = show
        self._notifications: list[Notification] = []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES)
                try:
                    webhook._receive(self.path.strip("/"), load_json(self.rfile.read(length)))
                    self.send_response(200)
                except (ValueError, KeyError, TypeError):
                    self.send_response(400)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Do not log requests."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def notifications(self) -> list[Notification]:
        """Return all alerts received so far, oldest first."""
        with self._arrived:
            return list(self._notifications)

    def wait(self, condition: Callable[[Sequence[Notification]], bool], timeout: float) -> bool:
        """Wait until `condition` holds for the alerts received so far; return False after `timeout` seconds."""
        with self._arrived:
            return self._arrived.wait_for(lambda: condition(self._notifications), timeout)

    def _receive(self, receiver: str, message: dict[str, Any]) -> None:
        received = time.time()
        group = message["groupLabels"]
        alerts = [
            Notification(received, receiver, each["status"], group, each["labels"], each["annotations"])
            for each in message["alerts"]
        ]
        with self._arrived:
            self._notifications.extend(alerts)
            self._arrived.notify_all()
            self._show(alerts)


def main() -> None:
    """Listen on the port given on the command line and print alerts until terminated."""

    def show(message: Sequence[Notification]) -> None:
        for each in message:
            print(each.receiver, each.status, each.name, each.labels.get("instance", ""), flush=True)

    with Webhook("0.0.0.0", int(sys.argv[1]), show):
        threading.Event().wait()


if __name__ == "__main__":
    main()
