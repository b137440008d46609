"""The request timeout closes connections of slow callers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from ase_exporter.web.request_timeout import MAX_HEAD, RequestTimeoutProtocol

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def with_server(talk: Talk, protocol_class: type[RequestTimeoutProtocol] = RequestTimeoutProtocol) -> None:
    """Run `talk` on one connection to a server that answers every request."""

    async def main() -> None:
        config = uvicorn.Config(PlainTextResponse("hello"), log_config=None, lifespan="off")
        config.load()

        def protocol() -> RequestTimeoutProtocol:
            return protocol_class(config, uvicorn.server.ServerState(), {})

        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            await asyncio.wait_for(talk(reader, writer), 60)
            writer.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-"]
)
def test_a_request_that_does_not_come_closes_the_connection(sent: bytes) -> None:
    class ShortTimeout(RequestTimeoutProtocol):
        request_seconds = 0.2

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        assert await reader.read() == b""

    with_server(talk, ShortTimeout)


def test_a_second_request_that_trickles_closes_the_connection_too() -> None:
    class ShortTimeout(RequestTimeoutProtocol):
        pass

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"hello")
        ShortTimeout.request_seconds = 0.2
        writer.write(b"GET /")
        assert await reader.read() == b""

    with_server(talk, ShortTimeout)


def test_a_head_that_is_too_large_is_refused() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * MAX_HEAD)
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")

    with_server(talk)
