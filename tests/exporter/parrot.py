"""A server that replays the recorded answers of a simulated ASE: many targets for little CPU.

It works on packets, not on tokens. An unknown request is sent to the simulated server once, and its answer recorded.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

HEADER = struct.Struct(">BBHHBB")
LOGIN, REPLY, ATTENTION = 2, 4, 6
EOM = 1
LOGOUT = b"\x71\0"
MAX_ANSWERS = 10_000
# A DONE token that acknowledges an attention.
ACKNOWLEDGED = HEADER.pack(REPLY, EOM, HEADER.size + 9, 0, 0, 0) + b"\xfd\x20\0\0\0\0\0\0\0"


class Recording:
    """The answers of one server by request. An answer is b'' if the server closed the connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._login = b""
        self._answers: dict[bytes, bytes] = {}
        self._asking = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def known(self, request: bytes) -> bytes | None:
        """The recorded answer to a complete message; None if there is none."""
        return self._answers.get(b"" if request[0] == LOGIN else request)

    async def ask(self, request: bytes) -> bytes:
        """The answer to a complete message, from the server if it is not recorded. All logins count as equal."""
        async with self._asking:
            if request[0] == LOGIN:
                self._login = self._login or request
            answer = self.known(request)
            if answer is None:
                try:
                    answer = await self._exchange(request)
                except (asyncio.IncompleteReadError, ConnectionError):
                    self.close()
                    answer = b""
                if len(self._answers) < MAX_ANSWERS:
                    self._answers[b"" if request[0] == LOGIN else request] = answer
            return answer

    def forget(self) -> None:
        """Drop all answers but that to the login, because the server's state has changed."""
        self._answers = {request: answer for request, answer in self._answers.items() if not request}

    def close(self) -> None:
        """Close the connection to the server."""
        if self._streams:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, request: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
            if request[0] != LOGIN:
                await self._exchange(self._login)
        reader, writer = self._streams
        writer.write(request)
        answer, status = b"", 0
        while not status & EOM:
            header = await reader.readexactly(HEADER.size)
            _, status, length, *_ = HEADER.unpack(header)
            answer += header + await reader.readexactly(length - HEADER.size)
        return answer


class Parrot(asyncio.Protocol):
    """One client connection. Misbehaving servers override `say`."""

    transport: asyncio.Transport

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._message = b""
        self._read = 0
        self._asking: asyncio.Task[None] | None = (
            None  # never cancelled: other connections may wait for its answer
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._message += data
        while len(self._message) - self._read >= HEADER.size:
            kind, status, length, *_ = HEADER.unpack_from(self._message, self._read)
            if len(self._message) - self._read < length:
                return
            self._read += length
            if status & EOM:
                request, self._message = self._message[: self._read], self._message[self._read :]
                self._read = 0
                self.asked(kind, request)

    def asked(self, kind: int, request: bytes) -> None:
        """Handle one complete message."""
        if kind == ATTENTION:
            # A server sends nothing of a cancelled request after this.
            self._asking = None
            self.transport.write(ACKNOWLEDGED)
        elif request[HEADER.size :] == LOGOUT:
            self.transport.close()
        elif (answer := self.recording.known(request)) is not None:
            self.say(answer)
        else:
            self._asking = asyncio.create_task(self._ask(request))

    def say(self, answer: bytes) -> None:
        """Send an answer to the client; b'' closes the connection."""
        if answer:
            self.transport.write(answer)
        else:
            self.transport.close()

    async def _ask(self, request: bytes) -> None:
        answer = await self.recording.ask(request)
        if self._asking is asyncio.current_task() and not self.transport.is_closing():
            self.say(answer)


@asynccontextmanager
async def listening(make: Callable[[], Parrot], count: int = 1) -> AsyncIterator[list[tuple[str, int]]]:
    """Listen on `count` ports of loopback and yield their addresses."""
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(make, "127.0.0.1", 0, backlog=512) for _ in range(count)]
    try:
        yield [server.sockets[0].getsockname()[:2] for server in servers]
    finally:
        for server in servers:
            server.close()
