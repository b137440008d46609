"""Responses with metrics: content negotiation, compression, and sending large bodies in pieces."""

import gzip
import re

from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

TEXT = "text/plain; version=0.0.4; charset=utf-8"
# Bytes that are passed to the socket at a time.
PIECE = 256 * 1024


class Exposition(Response):
    """A response of up to many megabytes, sent in pieces as the socket takes them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = memoryview(self.body)
        for start in range(0, max(len(body), 1), PIECE):
            piece = {"body": body[start : start + PIECE], "more_body": start + PIECE < len(body)}
            await send({"type": "http.response.body", **piece})


def wants_openmetrics(request: Request) -> bool:
    return "application/openmetrics-text" in request.headers.get("accept", "")


def wants_created(request: Request) -> bool:
    """Whether the caller asks for the times at which counters started (`created=1`), which OpenMetrics can tell."""
    return request.query_params.get("created") == "1"


def accepts_gzip(request: Request) -> bool:
    for choice in request.headers.get("accept-encoding", "").lower().split(","):
        coding, *parameters = (part.strip() for part in choice.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    return False


def content_type(request: Request) -> str:
    """The content type of the format that the caller gets."""
    return OPENMETRICS if wants_openmetrics(request) else TEXT


def exposition(request: Request, body: bytes) -> Response:
    """A response with metrics, compressed if the caller accepts that."""
    if not accepts_gzip(request):
        return Exposition(body, media_type=content_type(request))
    compressed = gzip.compress(body, compresslevel=1, mtime=0)
    return Exposition(compressed, media_type=content_type(request), headers={"Content-Encoding": "gzip"})
