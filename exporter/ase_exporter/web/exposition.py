"""Responses with metrics: compression, and sending large bodies in pieces."""

import gzip
import re
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.metrics.families import Family

TEXT = "text/plain; version=0.0.4; charset=utf-8"
# Bytes that are passed to the socket at a time.
PIECE = 256 * 1024


class Exposition(Response):
    """Up to many megabytes, sent in pieces as the socket takes them. body: in the encoding that the caller accepts."""

    def __init__(self, request: Request, body: memoryview | bytes) -> None:
        super().__init__(body, media_type=TEXT)
        if accepts_gzip(request):
            self.headers["Content-Encoding"] = "gzip"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = memoryview(self.body)
        for start in range(0, max(len(body), 1), PIECE):
            piece = {"body": body[start : start + PIECE], "more_body": start + PIECE < len(body)}
            await send({"type": "http.response.body", **piece})


def accepts_gzip(request: Request) -> bool:
    for choice in request.headers.get("accept-encoding", "").lower().split(","):
        coding, *parameters = (part.strip() for part in choice.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    return False


def exposition(request: Request, families: Iterable[Family]) -> Response:
    """A response with these metrics, compressed if the caller accepts that."""
    body = render_bytes(families)
    return Exposition(request, gzip.compress(body, 1, mtime=0) if accepts_gzip(request) else body)
