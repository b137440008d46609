"""A small TDS 5.0 client that sends any bytes and returns those of the reply; FreeTDS is who reads all its tokens."""

import re
import socket
import struct
from collections.abc import Iterable
from typing import Any

from ase_simulator.tds.fields import u2, u4

HEADER = struct.Struct(">BBHHBB")
LOGIN, REPLY, ATTENTION, NORMAL = 2, 4, 6, 15
EOM = 1

# What FreeTDS sends.
REQUESTS = {*range(1, 39), 40, 42, 43, 45, 46, 48, 49, 50, 51, 59, 61, 62, 63, 64, 71, 72, 79, 83, 93, 94}
REJECTIONS = {27, 29, 30, 33}

# DONE: token, status, state of the transaction, count.
DONE = struct.Struct("<BHHI")
MORE, ERROR, COUNT, ATTENTION_ACK = 0x01, 0x02, 0x10, 0x20


def mask(bits: Iterable[int], size: int = 14) -> bytes:
    return sum(1 << bit for bit in bits).to_bytes(size, "big")


def login_record(
    user: str, password: str, *, charset: str = "utf8", packet_size: int = 512, security: int = 0
) -> bytes:
    """The login record and capabilities."""

    def name(text: str, size: int = 30) -> bytes:
        data = text.encode("utf-8")
        return data.ljust(size, b"\0") + bytes((len(data),))

    record = b"".join(
        (
            *(name("host"), name(user), name(password), name("42"), b"\3", bytes(15)),
            *(name("raw"), name(""), bytes(256), b"\5\0\0\0", name("raw", 10), bytes(7)),
            *(name("us_english"), bytes(3), bytes((security,)), bytes(10), name(charset), b"\1"),
            *(name(str(packet_size), 6), bytes(4)),
        )
    )
    asked, spared = mask(REQUESTS), mask(REJECTIONS)
    body = bytes((1, len(asked))) + asked + bytes((2, len(spared))) + spared
    return record + b"\xe2" + u2(len(body)) + body


def language(sql: str) -> bytes:
    """A batch of T-SQL."""
    data = sql.encode("utf-8")
    return b"\x21" + u4(len(data) + 1) + b"\0" + data


def done(status: int, count: int = 0) -> bytes:
    """The token at the end of a statement."""
    return DONE.pack(0xFD, status, 0, count)


def numbers(reply: bytes) -> list[int]:
    """Those of the messages in a reply; each begins with its length, number, state, severity and SQLSTATE."""
    return [int.from_bytes(each, "little") for each in re.findall(rb"\xe5..(....)..\x05", reply, re.DOTALL)]


class RawClient:
    """One connection over a blocking socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.packet_sizes: list[int] = []

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def login(self, user: str, password: str, **options: Any) -> bytes:
        self.send(login_record(user, password, **options), LOGIN)
        return self.reply()

    def ask(self, request: str | bytes) -> bytes:
        self.send(request)
        return self.reply()

    def send(self, request: str | bytes, kind: int = NORMAL, size: int = 512) -> None:
        """Send a batch of T-SQL, or the bytes of a message."""
        body = language(request) if isinstance(request, str) else request
        room = size - HEADER.size
        parts = [body[start : start + room] for start in range(0, len(body), room)] or [b""]
        for number, part in enumerate(parts):
            last = EOM if number == len(parts) - 1 else 0
            self.socket.sendall(HEADER.pack(kind, last, len(part) + HEADER.size, 0, 0, 0) + part)

    def reply(self) -> bytes:
        """All tokens up to the end of a message; EOFError where the server closed first."""
        body = b""
        while True:
            kind, status, length, *_ = HEADER.unpack(self.exactly(HEADER.size))
            assert kind == REPLY
            self.packet_sizes.append(length)
            body += self.exactly(length - HEADER.size)
            if status & EOM:
                return body

    def closed(self) -> bool:
        """Whether the server closes the connection, having sent nothing more."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data
