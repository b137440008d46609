"""The client of Prometheus: what it makes of answers that are none."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from ase_exporter.compare.prometheus import Prometheus, PrometheusError


class Answers(BaseHTTPRequestHandler):
    """Answers every request with the same text."""

    text = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.text)))
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # of the base class
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def success(result: object) -> str:
    return json.dumps({"status": "success", "data": {"result": result}})


@pytest.mark.parametrize(
    "text",
    [
        success("text"),
        success([{"values": [[1, "1"]]}]),
        success([{"metric": {}}]),
        success([{"metric": {}, "value": [1], "values": [[1]]}]),
        success([{"metric": {}, "value": [1, "x"], "values": [[1, "x"]]}]),
        success([{"metric": {}, "value": [1, None], "values": [[None, None]]}]),
        success([7]),
        '{"status": "success", "data": null}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_none_of_prometheus_is_one_line(
    url: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "text", text.encode())
    with Prometheus(url) as prometheus:
        asks = (
            lambda: prometheus.query("up"),
            lambda: prometheus.recorded("up", 0, 10),
            lambda: prometheus.over("up", 0, 10, 1),
        )
        for ask in asks:
            with pytest.raises(PrometheusError, match="HTTP 200, not an answer of Prometheus's API"):
                ask()
