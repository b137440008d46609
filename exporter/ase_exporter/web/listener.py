"""Accepts connections: as many as descriptors allow, with a timeout on TLS handshakes, and quietly.

asyncio's own server waits 60 s for a TLS handshake, does not limit the number of connections, and logs a traceback per
attempt when descriptors run out, which fills a disk.
"""

import asyncio
import contextlib
import logging
import resource
import socket
import ssl
from asyncio import sslproto
from collections.abc import Callable
from functools import partial
from itertools import chain

from ase_exporter.web.request_timeout import RequestTimeoutProtocol

log = logging.getLogger(__name__)

# Two Prometheus servers with a connection for each of a thousand targets stay well below this.
MAX_CONNECTIONS = 4096
# Descriptors for everything but connections: workers, the journal, reloads.
RESERVED_DESCRIPTORS = 256
HANDSHAKE_SECONDS = 10.0
# For the end of a TLS connection.
SHUTDOWN_SECONDS = 5.0
# Without a free descriptor, the next attempt is made after this time.
RETRY_SECONDS = 0.5
# At a time, so that a flood leaves time for requests.
MAX_ACCEPTS = 64

# asyncio's buffer for what a TLS connection receives, allocated before the handshake: 256 KiB times 4096 is a GB.
sslproto.SSLProtocol.max_size = 16 << 10


class Listener:
    """One listening socket. At the limit, a connection without a request is closed for each new one.

    Those that never had a request come first, the oldest of them before the others.
    """

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], RequestTimeoutProtocol],
        tls: ssl.SSLContext | None = None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._socket = listener
        self._make_protocol = make_protocol
        self._tls = tls
        self._max_connections = max_connections
        self._loop = asyncio.get_running_loop()
        # In order of age: TLS handshakes, connections before their first request, connections after a request.
        self._handshakes: dict[asyncio.Task[None], None] = {}
        self._new: dict[RequestTimeoutProtocol, None] = {}
        self._idle: dict[RequestTimeoutProtocol, None] = {}
        # All that are past the handshake.
        self._open: set[RequestTimeoutProtocol] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._short = False
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """Stop accepting. Connections stay."""
        self._loop.remove_reader(self._socket)
        if self._retry:
            self._retry.cancel()
        for handshake in self._handshakes:
            handshake.cancel()

    async def wait_closed(self) -> None:
        if self._handshakes:
            await asyncio.wait(self._handshakes)

    def _accept(self) -> None:
        for _ in range(MAX_ACCEPTS):
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as error:
                self._pause(error)
                return
            self._short = False
            if len(self._handshakes) + len(self._open) >= self._max_connections:
                log.warning(
                    "all %d connections are in use: closing those without a request", self._max_connections
                )
                if not self._make_room():
                    connection.close()
                    continue
            task = self._loop.create_task(self._start(connection))
            self._handshakes[task] = None
            task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    def _pause(self, error: OSError) -> None:
        """Close an idle connection and accept again later: descriptors or memory have run out."""
        if not self._short:
            log.warning("connections cannot be accepted: %s", error.strerror)
        self._short = True
        self._make_room()
        self._loop.remove_reader(self._socket)
        self._retry = self._loop.call_later(RETRY_SECONDS, self._loop.add_reader, self._socket, self._accept)

    def _make_room(self) -> bool:
        """Close a connection; False if all have a request."""
        if self._handshakes:
            task = next(iter(self._handshakes))
            del self._handshakes[task]
            task.cancel()
            return True
        if protocol := next(chain(self._new, self._idle), None):
            self._forget(protocol)
            protocol.transport.abort()
            return True
        return False

    async def _start(self, connection: socket.socket) -> None:
        """Accept a connection; TLS starts with its handshake."""
        # Callers that speak no TLS, leave, or take too long.
        with contextlib.suppress(OSError):
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if self._tls else None,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS if self._tls else None,
            )

    def _protocol(self) -> RequestTimeoutProtocol:
        protocol = self._make_protocol()
        protocol.on_open = partial(self._opened, protocol)
        protocol.on_request = partial(self._requested, protocol)
        protocol.on_idle = partial(self._idle.setdefault, protocol)
        protocol.on_lost = partial(self._forget, protocol)
        return protocol

    def _opened(self, protocol: RequestTimeoutProtocol) -> None:
        self._open.add(protocol)
        self._new[protocol] = None

    def _requested(self, protocol: RequestTimeoutProtocol) -> None:
        self._new.pop(protocol, None)
        self._idle.pop(protocol, None)

    def _forget(self, protocol: RequestTimeoutProtocol) -> None:
        self._open.discard(protocol)
        self._requested(protocol)


def max_connections() -> int:
    """How many connections the limit of descriptors allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(16, min(MAX_CONNECTIONS, soft - min(RESERVED_DESCRIPTORS, soft // 2)))
