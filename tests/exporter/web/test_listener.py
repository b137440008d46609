"""The listener bounds connections and handshakes, and keeps those who have a request."""

import asyncio
import socket
import ssl
import time
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from tests.exporter.web.authority import Authority

from ase_exporter.web import listener as listener_module
from ase_exporter.web.listener import Listener
from ase_exporter.web.request_timeout import MAX_HEAD, HeadLimit, RequestTimeoutProtocol

pytestmark = pytest.mark.anyio
Address = tuple[str, int]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def listening(
    tls: ssl.SSLContext | None = None,
    max_connections: int = 100,
    body: bytes = b"hello",
    protocol_class: type[RequestTimeoutProtocol] = RequestTimeoutProtocol,
) -> AsyncIterator[Address]:
    """A server that answers every request with that body, for at most a minute."""
    config = uvicorn.Config(HeadLimit(PlainTextResponse(body)), log_config=None, lifespan="off")
    config.load()
    state = uvicorn.server.ServerState()
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(64)
        listener = Listener(sock, lambda: protocol_class(config, state, {}), tls, max_connections)
        try:
            async with asyncio.timeout(60):
                yield sock.getsockname()
        finally:
            listener.close()
            await listener.wait_closed()
            for connection in list(state.connections):
                connection.transport.abort()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(REQUEST)
    return await reader.readuntil(b"hello")


async def test_a_tls_handshake_that_never_begins_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "HANDSHAKE_SECONDS", 0.2)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).sign("server"))
    async with listening(context) as address:
        reader, _ = await asyncio.open_connection(*address)
        assert await reader.read() == b""
        client = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
        assert await ask(*await asyncio.open_connection(*address, ssl=client))


async def test_a_tls_handshake_takes_little_memory(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).sign("server"))
    client = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
    async with listening(context) as address:
        tracemalloc.start()
        try:
            crowd = [await asyncio.open_connection(*address) for _ in range(50)]
            # The server has begun with all of the crowd when it answers a later one.
            assert await ask(*await asyncio.open_connection(*address, ssl=client))
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < len(crowd) * (96 << 10)


async def test_connections_without_a_request_make_room_and_served_ones_stay() -> None:
    async with listening(max_connections=5) as address:
        served = await asyncio.open_connection(*address)
        assert await ask(*served)
        crowd = [await asyncio.open_connection(*address) for _ in range(20)]
        assert await ask(*await asyncio.open_connection(*address))
        # The oldest of the crowd had to go.
        assert await crowd[0][0].read() == b""
        assert await ask(*served)


async def test_a_caller_that_does_not_read_is_disconnected() -> None:
    lost = asyncio.Event()

    class ShortTimeout(RequestTimeoutProtocol):
        write_seconds = 0.2

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    async with listening(body=b"x" * (32 << 20), protocol_class=ShortTimeout) as address:
        with socket.socket() as slow:
            slow.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(slow, address)
            await loop.sock_sendall(slow, REQUEST)
            await lost.wait()


@pytest.mark.parametrize(
    ("size", "end"),
    [(MAX_HEAD + 1, b"\r\n\r\n"), (4 * MAX_HEAD, b"\r\n\r\n"), (4 * MAX_HEAD, b"")],
    ids=["at once", "whole", "unfinished"],
)
async def test_after_a_head_that_is_too_large_the_connection_ends(size: int, end: bytes) -> None:
    async with listening() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * size + end)
        started = time.monotonic()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in answer.lower()
        assert time.monotonic() - started < RequestTimeoutProtocol.flush_seconds
        writer.close()
