"""The front's end of the socket to a worker; the other end needs no asyncio, which takes 5 MB."""

import asyncio
import pickle
from collections.abc import Iterator
from dataclasses import replace

from ase_exporter.ipc import LENGTHS, Message, ScrapeReply, pack


class Channel(asyncio.BufferedProtocol):
    """Whole messages; every part of one is received where it stays."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._received = self._parts()
        self._part = next(self._received)
        self._filled = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a socket now."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._messages.put_nowait(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        """What is missing of the part that is being received."""
        return self._part[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """So much of it came."""
        self._filled += nbytes
        if self._filled == len(self._part):
            self._part, self._filled = next(self._received), 0

    async def receive(self) -> Message:
        """The next message. EOFError when the worker is gone."""
        message = await self._messages.get()
        if message is None:
            raise EOFError
        return message

    def send(self, message: Message) -> None:
        """Have it sent."""
        for part in pack(message):
            self._transport.write(part)

    def close(self) -> None:
        """Send no more."""
        self._transport.close()

    def _parts(self) -> Iterator[memoryview]:
        """Memory for one part after the other; when it goes on, the part has come."""
        while True:
            yield (lengths := memoryview(bytearray(LENGTHS.size)))
            length, body_length = LENGTHS.unpack(lengths)
            yield (data := memoryview(bytearray(length)))
            message: Message = pickle.loads(data)
            if isinstance(message, ScrapeReply) and body_length:
                body = bytearray(body_length)
                yield memoryview(body)
                message = replace(message, body=body)
            self._messages.put_nowait(message)
