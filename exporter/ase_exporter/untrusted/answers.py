"""Answers of other HTTP servers, within limits of size and time.

They are asked for without compression: a few kilobytes can be decoded for ever without giving a byte to count.
"""

import time
from collections.abc import Mapping

import httpx2

PLAIN: Mapping[str, str] = {"Accept-Encoding": "identity"}


class BoundedBody:
    """The body of a streamed answer. ends: on the monotonic clock. Raises httpx2.TransportError beyond the limits."""

    def __init__(self, answer: httpx2.Response, max_bytes: float, ends: float) -> None:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        self._max_bytes, self._ends = max_bytes, ends
        self.content = bytearray()

    def take(self, piece: bytes) -> None:
        """Add a piece of the body."""
        self.content += piece
        if len(self.content) > self._max_bytes:
            raise httpx2.ReadError(f"the answer has over {self._max_bytes:,.0f} bytes")
        if time.monotonic() > self._ends:
            raise httpx2.ReadTimeout("a slow answer")


def read_body(answer: httpx2.Response, max_bytes: float, ends: float) -> bytes:
    """The body of a streamed answer, as BoundedBody."""
    body = BoundedBody(answer, max_bytes, ends)
    for piece in answer.iter_bytes():
        body.take(piece)
    return bytes(body.content)
