"""Answers of other HTTP servers, within limits of size and time.

They are asked for without compression: a few kilobytes can be decoded for ever without giving a byte to count.
"""

import re
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2

PLAIN: Mapping[str, str] = {"Accept-Encoding": "identity"}


class BoundedBody:
    """The body of a streamed answer. Raises httpx2.ReadError beyond the limit."""

    def __init__(self, answer: httpx2.Response, max_bytes: float) -> None:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        self._max_bytes = max_bytes
        self.content = bytearray()

    def take(self, piece: bytes) -> None:
        """Add a piece of the body."""
        self.content += piece
        if len(self.content) > self._max_bytes:
            raise httpx2.ReadError(f"the answer has over {self._max_bytes:,.0f} bytes")


def ask(
    client: httpx2.Client, method: str, url: str, *, max_bytes: float, seconds: float, **content: Any
) -> tuple[int, bytes]:
    """Status and body of an answer. Raises httpx2.HTTPError, also beyond the limits.

    httpx2's own timeouts begin again with each byte of a handshake, of a head, or of a body, and with each of any
    number of interim answers. So the connection, which no other request uses, is shut down when the time is over.
    """
    connections: list[socket.socket] = []

    def note(event: str, information: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            # A copy, as TLS takes the socket over.
            connections.append(information["return_value"].get_extra_info("socket").dup())

    def shut_down() -> None:
        for each in connections:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    ends = time.monotonic() + seconds
    timer = threading.Timer(seconds, shut_down)
    timer.daemon = True
    timer.start()
    try:
        with client.stream(
            method,
            url,
            headers={**PLAIN, "Connection": "close"},
            timeout=seconds,
            extensions={"trace": note},
            **content,
        ) as answer:
            body = BoundedBody(answer, max_bytes)
            for piece in answer.iter_bytes():
                body.take(piece)
                _require_before(ends)
        # The end of a body without a length may be ours.
        _require_before(ends)
    except httpx2.TransportError:
        _require_before(ends)
        raise
    finally:
        timer.cancel()
        for each in connections:
            each.close()
    return answer.status_code, bytes(body.content)


def no_answer(error: Exception) -> str:
    """Why a request has no answer: the words of the system or of TLS, without numbers of errors and lines of code.

    Of an invalid URL, which may hold a password, the kind alone.
    """
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    told = str(error) if isinstance(error, httpx2.TransportError | OSError) else ""
    words = re.sub(r"\[[^\]]*\] | \(_ssl\.c:\d+\)", "", told).rstrip(".")
    # OpenSSL's words for an answer without TLS.
    if re.match("wrong version number|record layer failure|http request", words, re.IGNORECASE):
        return "it answers without TLS, as for http:// in place of https://"
    return words[:1].lower() + words[1:] or type(error).__name__


def _require_before(ends: float) -> None:
    if time.monotonic() >= ends:
        raise httpx2.ReadTimeout("a slow answer")
