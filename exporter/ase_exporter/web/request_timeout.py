"""Limits on slow callers: closes connections whose request does not arrive, or whose response is not read, in time."""

import asyncio
from collections.abc import Callable

import h11
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# Bytes of the request line and all headers.
MAX_HEAD = 16 * 1024


def _nothing() -> object:
    return None


class RequestTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a timeout on requests; uvicorn limits only the pause after a response.

    request_seconds: for a request to arrive completely. write_seconds: without progress of a response, that is, for
    the caller to take what is buffered. flush_seconds: for the rest of a response after the connection was closed.
    on_open, on_request, on_idle, on_lost: called when the connection begins, has a request, has its response, ends.
    """

    request_seconds = 10.0
    write_seconds = 10.0
    flush_seconds = 5.0
    on_open: Callable[[], object] = staticmethod(_nothing)
    on_request: Callable[[], object] = staticmethod(_nothing)
    on_idle: Callable[[], object] = staticmethod(_nothing)
    on_lost: Callable[[], object] = staticmethod(_nothing)
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first request."""
        super().connection_made(transport)
        self.on_open()
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a request is complete; start it with the first bytes of the next one."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
            if self.conn.our_state is not h11.IDLE:
                self.on_request()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_write_timer()
        self.on_lost()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The connection waits for the next request, which may be buffered already."""
        super().on_response_complete()
        if self.conn.our_state is h11.IDLE:
            self.on_idle()

    def send_400_response(self, msg: str) -> None:
        """Close the connection of a request that is not HTTP; with an answer, unless another one has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        self._close()
        if self.cycle:
            # What the application still sends is discarded.
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, even if the caller has not taken the last response."""
        super().timeout_keep_alive_handler()
        self._abort_later()

    def pause_writing(self) -> None:
        """The caller does not read: give it some time."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.request_seconds, self._close)

    def _close(self) -> None:
        self.transport.close()
        self._abort_later()

    def _abort_later(self) -> None:
        # Otherwise a caller that does not read keeps the connection until TCP gives up.
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.flush_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer:
            self._write_timer.cancel()
            self._write_timer = None


class HeadLimit:
    """ASGI middleware that answers 400 to a head above MAX_HEAD, as h11 limits only what arrives in pieces, or with two
    lengths, which a proxy may understand in another way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and (problem := _problem(scope)):
            app = PlainTextResponse(f"{problem}\n", 400, {"connection": "close"})
        await app(scope, receive, send)


def _problem(scope: Scope) -> str:
    """What is wrong with the head of a request; '' if it is good."""
    if _head_size(scope) > MAX_HEAD:
        return f"the request head has more than {MAX_HEAD} bytes"
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        return "expected Content-Length or Transfer-Encoding, not both"
    return ""


def _head_size(scope: Scope) -> int:
    """Bytes of the request line and the headers, with their separators."""
    line = (
        len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"]) + len(" ?  HTTP/1.1\r\n")
    )
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
