"""Connections of slow callers end, connections without a request make room, and requests have one length."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from ase_exporter.web.request_timeout import OneLength, RequestTimeoutProtocol
from ase_exporter.web.server import MAX_HEAD

pytestmark = pytest.mark.anyio
Address = tuple[str, int]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def listening(
    body: bytes = b"hello", protocol_class: type[RequestTimeoutProtocol] = RequestTimeoutProtocol
) -> AsyncIterator[Address]:
    """A server that answers every request with that body, for at most a minute."""
    config = uvicorn.Config(
        OneLength(PlainTextResponse(body)),
        log_config=None,
        lifespan="off",
        h11_max_incomplete_event_size=MAX_HEAD,
    )
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: protocol_class(config, state, {}), "127.0.0.1", 0)
    try:
        async with asyncio.timeout(60):
            yield server.sockets[0].getsockname()
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await server.wait_closed()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(REQUEST)
    return await reader.readuntil(b"hello")


@asynccontextmanager
async def connected(
    protocol_class: type[RequestTimeoutProtocol] = RequestTimeoutProtocol,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that answers every request."""
    async with listening(protocol_class=protocol_class) as address:
        reader, writer = await asyncio.open_connection(*address)
        yield reader, writer
        writer.close()


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-"]
)
async def test_a_request_that_does_not_come_closes_the_connection(sent: bytes, second: bool) -> None:
    class ShortTimeout(RequestTimeoutProtocol):
        # A first request may take long on a busy machine.
        seconds = 60.0 if second else 0.2

    async with connected(ShortTimeout) as (reader, writer):
        if second:
            await ask(reader, writer)
            ShortTimeout.seconds = 0.2
        writer.write(sent)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("answered_first", [False, True])
@pytest.mark.parametrize("chunk", [b"zz\r\n", b"-1\r\nx\r\n", b"1\r\nxyz", b"f" * 40 + b"\r\n"])
async def test_a_bad_chunk_is_one_line_and_closes_the_connection(
    caplog: pytest.LogCaptureFixture, chunk: bytes, answered_first: bool
) -> None:
    caplog.set_level(logging.WARNING)
    async with connected() as (reader, writer):
        writer.write(CHUNKED if answered_first else CHUNKED + chunk)
        if answered_first:
            assert await reader.readuntil(b"hello")
            writer.write(chunk)
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
    assert [(record.message, record.exc_info) for record in caplog.records] == [
        ("Invalid HTTP request received.", None)
    ]


async def test_a_request_with_two_lengths_is_refused_and_closes_the_connection() -> None:
    body = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    async with connected() as (reader, writer):
        writer.write(CHUNKED.replace(b"Host: x", b"Host: x\r\nContent-Length: 5") + body)
        said = await reader.read()
        assert said.startswith(b"HTTP/1.1 400 ")
        assert said.count(b"HTTP/1.1 ") == 1


async def test_connections_without_a_request_make_room_and_served_ones_stay() -> None:
    class FewConnections(RequestTimeoutProtocol):
        max_connections = 5

    async with listening(protocol_class=FewConnections) as address:
        served = await asyncio.open_connection(*address)
        assert await ask(*served)
        crowd = [await asyncio.open_connection(*address) for _ in range(20)]
        assert await ask(*await asyncio.open_connection(*address))
        # The oldest of the crowd had to go.
        with contextlib.suppress(ConnectionResetError):
            assert await crowd[0][0].read() == b""
        assert await ask(*served)


async def test_a_caller_that_does_not_read_is_disconnected() -> None:
    lost = asyncio.Event()

    class ShortTimeout(RequestTimeoutProtocol):
        seconds = 0.2

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


async def test_after_a_head_that_is_too_large_the_connection_ends() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 4 * MAX_HEAD)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in answer.lower()
