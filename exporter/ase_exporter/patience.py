"""A bound on how long a caller may take over sending its request: one that trickles would hold its connection."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# The head of a request, all headers together.
LARGEST_HEAD = 16 * 1024
REQUEST_SECONDS = 10.0


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose next request is not there in time.

    uvicorn itself bounds only the pause after an answer.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time for the first request begins."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """A request that is there whole ends the waiting; the first bytes of another begin it."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None
