"""The client of Prometheus keeps the password of its URL to itself, and its limits."""

import base64
import gzip
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest

from ase_exporter.changes import annotate
from ase_exporter.compare.marks import marks_from_exporter
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.errors import UserError

PASSWORD = "p@ss/w:rd"


@contextmanager
def server(
    body: bytes, status: int = 200, chunks: int = 1, encoding: str = "identity"
) -> Iterator[tuple[str, list[str]]]:
    """A server with one answer: its address without scheme, and the Authorization headers that it got.

    chunks: how often the body is sent, until the client hangs up.
    """
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Encoding", encoding)
            self.end_headers()
            try:
                for _ in range(chunks):
                    self.wfile.write(body)
            except OSError:
                """The client has had enough."""

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{listening.server_port}", seen
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_the_password_of_the_url_is_used_and_not_kept_in_it() -> None:
    answer = json.dumps({"status": "success", "data": {"result": []}, "warnings": ["partial"]}).encode()
    with server(answer) as (address, seen), Prometheus(f"http://dba:secret%40word@{address}") as prometheus:
        assert prometheus.query("up") == []
        assert prometheus.warnings == ["partial"]
    assert seen == ["Basic " + base64.b64encode(b"dba:secret@word").decode()]
    assert "secret" not in str(prometheus.url)


@pytest.mark.parametrize(
    "url",
    [
        f"http://dba:{PASSWORD}@127.0.0.1:1",
        f"http://dba:{PASSWORD}@127.0.0.1:notaport",
        f"ftp://dba:{PASSWORD}@127.0.0.1/",
        f"dba:{PASSWORD}@127.0.0.1",
        f"http://dba:{PASSWORD}@[::1",
        "http://dba:secret@127.0.0.1:1",
        "http://dba:secret@127.0.0.1:99999",
        "http://dba:secret@\x00",
    ],
)
def test_no_error_shows_the_password(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with pytest.raises(UserError) as raised:
        Prometheus(url, timeout=5).query("up")
    with pytest.raises(UserError) as exporter:
        marks_from_exporter(url, "PROD1")
    with pytest.raises(UserError) as posted:
        annotate.ExporterClient(url).finish("0", 0.0, "")
    for text in (str(raised.value), str(exporter.value), str(posted.value), caplog.text):
        assert not any(part in text for part in ("p@ss", "w:rd", "secret", "dba")), text
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_exporter_that_refuses_is_named_without_the_password(status: int) -> None:
    with server(b"no", status) as (address, _), pytest.raises(UserError) as raised:
        marks_from_exporter(f"http://dba:secret@{address}", "PROD1")
    assert str(raised.value).startswith(f"--url: http://{address}/changes: HTTP {status}")


# The innermost is a header with a name that never ends: decoding it gives no byte that could be counted.
ENDLESS = gzip.compress(gzip.compress(b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"x" * 10_000_000))


@pytest.mark.parametrize(
    ("body", "chunks", "encoding", "problem"),
    [
        (b" " * 65536, 10**9, "identity", "the answer has over 1,000,000 bytes"),
        (gzip.compress(b" " * 20_000_000), 1, "gzip", "the answer is compressed, which was not asked for"),
        (ENDLESS, 1, "gzip, gzip, gzip", "the answer is compressed, which was not asked for"),
    ],
)
def test_an_answer_without_end_is_cut(
    body: bytes, chunks: int, encoding: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotate, "MAX_ANSWER", 1_000_000)
    with server(body, chunks=chunks, encoding=encoding) as (address, _):
        with (
            Prometheus(f"http://{address}", max_bytes=1_000_000) as prometheus,
            pytest.raises(UserError, match=problem),
        ):
            prometheus.query("up")
        with pytest.raises(UserError, match=problem):
            annotate.ExporterClient(f"http://{address}").request("GET", "/changes")


def test_after_the_deadline_nothing_is_asked() -> None:
    with server(b"{}") as (address, seen):
        late = Prometheus(f"http://{address}", deadline=time.monotonic() - 1)
        with late, pytest.raises(UserError, match="no answer in time"):
            late.query("up")
    assert seen == []


@pytest.mark.parametrize("days", [1, 2, 6.9, 30, 30.0001, 400])
def test_the_last_point_of_any_range_is_its_end(days: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    def ask(_: object, path: str, parameters: dict[str, str]) -> dict[str, list[object]]:
        asked.append(parameters)
        return {"result": []}

    monkeypatch.setattr(Prometheus, "_ask", ask)
    for now in (1_795_918_720.0, 1_795_918_720.636, 1_795_918_721.0019):
        with Prometheus("http://127.0.0.1") as prometheus:
            prometheus.over("up", now - days * 86_400, now, 15)
    for each in asked:
        start, end, step = (Decimal(each[name]) for name in ("start", "end", "step"))
        assert (end - start) % step == 0 and (end - start) / step < 11_000, each
        assert end - start >= Decimal(days * 86_400) - Decimal("0.001")


def drip(listening: socket.socket, beginning: bytes, piece: bytes) -> None:
    """Answer one connection a piece at a time, until the client hangs up."""
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.sendall(beginning)
        while True:
            connection.sendall(piece)
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b'HTTP/1.1 200 OK\r\n\r\n{"status": "success", "data": {"result": []}}', b" "),
        (b"HTTP/1.1 200 OK\r\n", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        # The beginning of a long record of a handshake.
        (b"\x16\x03\x03\x40\0", b"\0"),
    ],
    ids=["body", "body that could end", "head", "interim answers", "handshake"],
)
def test_a_slow_answer_ends_at_the_deadline(beginning: bytes, piece: bytes) -> None:
    scheme = "https" if beginning[:1] == b"\x16" else "http"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening, beginning, piece))
        thread.start()
        url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        with (
            Prometheus(url, timeout=math.inf, deadline=time.monotonic() + 0.5) as prometheus,
            pytest.raises(UserError, match="no answer in time"),
        ):
            prometheus.query("up")
        thread.join()


def test_a_password_that_the_server_repeats_is_not_shown() -> None:
    told = json.dumps(
        {"status": "error", "error": f"no user dba:{PASSWORD} {PASSWORD.upper()}" + "x" * 10_000}
    )
    with server(told.encode(), 400) as (address, _):
        url = f"http://dba:{quote(PASSWORD, safe='')}@{address}"
        with pytest.raises(UserError) as asked:
            Prometheus(url).query("up")
        with pytest.raises(UserError) as exporter:
            marks_from_exporter(url, "PROD1")
    warned = json.dumps({"status": "success", "data": {"result": []}, "warnings": [f"no {PASSWORD}"]})
    with server(warned.encode()) as (address, _):
        friendly = Prometheus(url.replace(url.rpartition("@")[2], address))
        friendly.query("up")
    for line in (*asked.value.lines, *exporter.value.lines, *friendly.warnings):
        assert PASSWORD not in line and PASSWORD.upper() not in line
        assert len(line) < 1200


def success(result: object) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


METRICS: list[object] = [[], "x", {"name": {}}, {"name": 1}, None]
HUGE = int("9" * 400)
VALUES: list[list[object]] = [[0, "1"], [0, HUGE], [HUGE, "1"], [0, str(HUGE)]]


@pytest.mark.parametrize(
    "body",
    [
        success("text"),
        success([{"values": [[1, "1"]]}]),
        success([{"metric": {}}]),
        success([{"metric": {}, "value": [1], "values": [[1]]}]),
        success([{"metric": {}, "value": [1, "x"], "values": [[1, "x"]]}]),
        success([{"metric": {}, "value": [1, None], "values": [[None, None]]}]),
        success([{"metric": {}, "value": ["x", "NaN1"], "values": [[math.nan, "1"]]}]),
        success([{"metric": {}, "value": [1, "x"], "values": [[1e300, "1"]]}]),
        success([7]),
        *(success([{"metric": m, "value": v, "values": [v]}]) for m in METRICS for v in VALUES),
        b'{"status": "success", "data": null}',
        b'{"status": "success"}',
        b'{"status": "error"}',
        b"[" * 100_000,
        *(b"", b"[]", b"null", b"\xff"),
    ],
)
def test_an_answer_of_another_form_is_one_line(body: bytes) -> None:
    with server(body) as (address, _), Prometheus(f"http://{address}") as prometheus:
        for ask in (
            lambda: prometheus.query("up"),
            lambda: prometheus.recorded("up", 0, 10),
            lambda: prometheus.over("up", 0, 10, 1),
        ):
            with pytest.raises(UserError, match="HTTP 200, not an answer of Prometheus's API"):
                ask()
