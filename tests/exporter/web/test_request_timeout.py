"""The request timeout closes connections of slow callers."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.exporter.web.test_listener import listening

from ase_exporter.web.request_timeout import RequestTimeoutProtocol

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(
    protocol_class: type[RequestTimeoutProtocol] = RequestTimeoutProtocol,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that answers every request."""
    async with listening(protocol_class=protocol_class) as address:
        reader, writer = await asyncio.open_connection(*address)
        yield reader, writer
        writer.close()


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-"]
)
async def test_a_request_that_does_not_come_closes_the_connection(sent: bytes) -> None:
    class ShortTimeout(RequestTimeoutProtocol):
        request_seconds = 0.2

    async with connected(ShortTimeout) as (reader, writer):
        writer.write(sent)
        assert await reader.read() == b""


async def test_a_second_request_that_trickles_closes_the_connection_too() -> None:
    class ShortTimeout(RequestTimeoutProtocol):
        pass

    async with connected(ShortTimeout) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"hello")
        ShortTimeout.request_seconds = 0.2
        writer.write(b"GET /")
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
