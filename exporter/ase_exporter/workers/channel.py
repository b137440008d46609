"""The web process's end of the socket to a worker; the worker's end does without asyncio, which takes 5 MB."""

import asyncio
import pickle
from collections.abc import Iterator
from dataclasses import replace

from ase_exporter.workers.messages import LENGTHS, Message, ScrapeReply, pack


class Channel(asyncio.BufferedProtocol):
    """Sends and receives whole messages; each part is received into its final memory, without a copy."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._received = self._parts()
        self._part = next(self._received)
        self._filled = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake up the receiver."""
        self._messages.put_nowait(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The memory that the rest of the current part goes to."""
        return self._part[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Move to the next part when the current one is complete."""
        self._filled += nbytes
        if self._filled == len(self._part):
            self._part, self._filled = next(self._received), 0

    async def receive(self) -> Message:
        """The next message. Raises EOFError when the worker is gone."""
        message = await self._messages.get()
        if message is None:
            raise EOFError
        return message

    def send(self, message: Message) -> None:
        """Queue a message to be sent."""
        for part in pack(message):
            self._transport.write(part)

    def close(self) -> None:
        """Close the socket."""
        self._transport.close()

    def _parts(self) -> Iterator[memoryview]:
        """Memory for one part after the other; the generator is resumed when a part is complete."""
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
