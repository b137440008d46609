"""Packets: 8-byte headers, always big-endian; the last packet of a message is marked."""

import asyncio
import struct
from dataclasses import dataclass
from enum import IntEnum

HEADER = struct.Struct(">BBHHBB")
END_OF_MESSAGE = 0x01

DEFAULT_SIZE = 512
MAX_SIZE = 16384

MAX_LOGIN = 64 * 1024
MAX_MESSAGE = 16 * 1024 * 1024


class ProtocolError(Exception):
    """The client's data is not TDS 5.0; its connection ends."""


class PacketType(IntEnum):
    """Packet types that a client may send, and REPLY, the only one of a server."""

    LANGUAGE = 1
    LOGIN = 2
    RPC = 3
    REPLY = 4
    ATTENTION = 6
    BULK = 7
    NORMAL = 15


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """One message of a client: the bodies of its packets, joined."""

    kind: PacketType
    body: bytes


class MessageReader:
    """Joins packets to messages; `limit` bounds the bytes of one message."""

    def __init__(self, stream: asyncio.StreamReader, limit: int = MAX_LOGIN) -> None:
        self._stream = stream
        self.limit = limit

    async def next(self) -> ClientMessage | None:
        """The next message; None when the client closed. An attention drops the message it interrupts."""
        parts: list[bytes] = []
        size = 0
        first: PacketType | None = None
        while True:
            try:
                header = await self._stream.readexactly(HEADER.size)
                kind, status, length = self._header(header)
                body = await self._stream.readexactly(length - HEADER.size)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            if kind is PacketType.ATTENTION:
                return ClientMessage(kind, b"")
            if first not in (None, kind):
                raise ProtocolError(f"packet type {kind} within a message of type {first}")
            first = kind
            size += len(body)
            if size > self.limit:
                raise ProtocolError(f"a message of more than {self.limit} bytes")
            parts.append(body)
            if status & END_OF_MESSAGE:
                return ClientMessage(kind, b"".join(parts))

    @staticmethod
    def _header(header: bytes) -> tuple[PacketType, int, int]:
        kind, status, length, _channel, _packet, _window = HEADER.unpack(header)
        try:
            packet_type = PacketType(kind)
        except ValueError:
            raise ProtocolError(f"unknown packet type {kind}") from None
        if packet_type is PacketType.REPLY or length < HEADER.size:
            raise ProtocolError(f"packet of type {kind} and length {length}")
        return packet_type, status, length


class Reply:
    """Collects whole tokens and sends them as packets, no faster than the client reads."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream
        self._unsent = bytearray()
        self.size = DEFAULT_SIZE

    def add(self, token: bytes) -> None:
        """Append one or more whole tokens."""
        self._unsent += token

    async def send(self) -> None:
        room = self.size - HEADER.size
        self._write(len(self._unsent) // room * room, 0)
        await self._stream.drain()

    async def push(self) -> None:
        """Send everything now, even in a packet that is not full."""
        self._write(len(self._unsent), 0)
        await self._stream.drain()

    async def finish(self) -> None:
        """Send the rest with the end-of-message flag; a reply is never empty, as it ends with DONE."""
        room = self.size - HEADER.size
        self._write((len(self._unsent) - 1) // room * room, 0)
        self._write(len(self._unsent), END_OF_MESSAGE)
        await self._stream.drain()

    def _write(self, length: int, status: int) -> None:
        room = self.size - HEADER.size
        body = bytes(self._unsent[:length])
        del self._unsent[:length]
        framed = []
        for start in range(0, length, room):
            part = body[start : start + room]
            framed.append(HEADER.pack(PacketType.REPLY, status, len(part) + HEADER.size, 0, 0, 0))
            framed.append(part)
        self._stream.write(b"".join(framed))
