"""Limits on callers that uvicorn does not have: on slow ones, on their number, and on requests with two lengths."""

import asyncio
import resource
from typing import ClassVar

import h11
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# Two Prometheus servers with a connection for each of a thousand targets stay well below this.
MAX_CONNECTIONS = 4096
# Descriptors for everything but connections: targets, the journal, reloads.
RESERVED_DESCRIPTORS = 256


class RequestTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, which ends connections of slow callers, and at the limit those without a request.

    seconds: for a request to arrive completely, and without progress of a response. max_connections: of the process.
    """

    seconds = 10.0
    max_connections = MAX_CONNECTIONS
    # Connections without a complete request, those that never had one in order of age before the others.
    _new: ClassVar[dict["RequestTimeoutProtocol", None]] = {}
    _idle: ClassVar[dict["RequestTimeoutProtocol", None]] = {}
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first request. At the limit, the connection that has waited longest makes room."""
        super().connection_made(transport)
        self._new[self] = None
        self._start_timer()
        if len(self.connections) > self.max_connections:
            self.logger.warning(
                "all %d connections are in use: closing one without a request", self.max_connections
            )
            next(iter(self._new | self._idle)).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a request is complete; start it with the first bytes of the next one."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._timer is None:
                self._start_timer()
            return
        self._stop_timer()
        self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._forget()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The connection waits for the next request, which may be buffered already."""
        super().on_response_complete()
        if self.conn.our_state is h11.IDLE:
            self._idle[self] = None

    def send_400_response(self, msg: str) -> None:
        """Close the connection of a request that is not HTTP; with an answer, unless another one has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()
        if self.cycle:
            # What the application still sends is discarded.
            self.cycle.disconnected = True

    def pause_writing(self) -> None:
        """The caller does not read: give it some time."""
        super().pause_writing()
        self._start_timer()

    def resume_writing(self) -> None:
        self._stop_timer()
        super().resume_writing()

    def _forget(self) -> None:
        self._new.pop(self, None)
        self._idle.pop(self, None)

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def max_connections() -> int:
    """How many connections the limit of descriptors allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(16, min(MAX_CONNECTIONS, soft - min(RESERVED_DESCRIPTORS, soft // 2)))


class OneLength:
    """ASGI middleware that answers 400 to a request with two lengths, which a proxy may understand in another way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app, names = self._app, {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            text = "expected Content-Length or Transfer-Encoding, not both\n"
            app = PlainTextResponse(text, 400, {"connection": "close"})
        await app(scope, receive, send)
