"""A small TDS 5.0 client that returns every token of a reply."""

import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ase_simulator.tds.fields import Fields, u2, u4

HEADER = struct.Struct(">BBHHBB")
LOGIN, REPLY, ATTENTION, NORMAL = 2, 4, 6, 15
EOM = 1

# What FreeTDS sends.
REQUESTS = {*range(1, 39), 40, 42, 43, 45, 46, 48, 49, 50, 51, 59, 61, 62, 63, 64, 71, 72, 79, 83, 93, 94}
REJECTIONS = {27, 29, 30, 33}

DONE_TOKENS = {0xFD: "DONE", 0xFE: "DONEPROC", 0xFF: "DONEINPROC"}
MORE, ERROR, COUNT, ATTENTION_ACK = 0x01, 0x02, 0x10, 0x20
# Of the types that tests ask for: int and bigint; integers and characters that may be NULL; keys of passwords.
SIZES = {0x38: 4, 0xBF: 8}
SHORT = {0x26, 0x27, 0x2F}
LONG = {0xE1}


@dataclass
class Token:
    """name: of the token; the rest by what it is."""

    name: str
    fields: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


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


class ReplyReader:
    """Reads replies. A format says how the rows and parameters after it are read."""

    def __init__(self) -> None:
        self._types: list[int] = []

    def tokens(self, data: bytes) -> Iterator[Token]:
        fields = Fields(data)
        while fields:
            yield self._token(fields)

    def _token(self, fields: Fields) -> Token:
        token = fields.u1()
        if token in DONE_TOKENS:
            status, _, count = fields.u2(), fields.u2(), fields.u4()
            return Token(DONE_TOKENS[token], {"status": status, "count": count})
        if token in (0xD1, 0xD7):
            values = [_value(fields, kind) for kind in self._types]
            return Token("ROW" if token == 0xD1 else "PARAMS", {"values": values})
        part = fields.part({0x61: fields.u4, 0x65: fields.u1}.get(token, fields.u2)())
        readers: dict[int, Callable[[Fields], Token]] = {
            0xE5: _message,
            0xE3: _environment,
            0xAD: _login_answer,
            0x61: lambda part: self._format("ROWFMT2", part),
            0xEC: lambda part: self._format("PARAMFMT", part),
            0xE2: lambda part: Token("CAPABILITY", {"body": part.rest()}),
            0x65: lambda part: Token("MSG", {"status": part.u1(), "id": part.u2()}),
        }
        read = readers[token](part)
        assert not part, read
        return read

    def _format(self, name: str, part: Fields) -> Token:
        self._types = [_type(part, wide=name == "ROWFMT2") for _ in range(part.u2())]
        return Token(name, {"types": self._types})


def _type(part: Fields, *, wide: bool) -> int:
    """The type of a column. wide: its name comes with catalogue, schema and table, and four bytes of status."""
    for _ in range(5 if wide else 1):
        part.short_bytes()
    part.take((4 if wide else 1) + 4)
    kind = part.u1()
    if kind not in SIZES:
        part.take({**dict.fromkeys(SHORT, 1), **dict.fromkeys(LONG, 4)}[kind])
    part.short_bytes()
    return kind


def _value(fields: Fields, kind: int) -> bytes | None:
    if kind in SIZES:
        return fields.take(SIZES[kind])
    return fields.take(fields.u4() if kind in LONG else fields.u1()) or None


def _text(part: Fields) -> str:
    return part.short_bytes().decode()


def _message(part: Fields) -> Token:
    number, state, severity, sqlstate = part.u4(), part.u1(), part.u1(), part.short_bytes()
    part.take(3)
    text = part.take(part.u2()).decode()
    found = {"number": number, "state": state, "severity": severity, "sqlstate": sqlstate, "text": text}
    return Token("EED", {**found, "server": _text(part), "procedure": _text(part), "line": part.u2()})


def _environment(part: Fields) -> Token:
    return Token("ENVCHANGE", {"kind": part.u1(), "new": _text(part), "old": _text(part)})


def _login_answer(part: Fields) -> Token:
    answer = {"status": part.u1(), "version": part.take(4), "name": _text(part), "server": part.take(4)}
    return Token("LOGINACK", answer)


class RawClient:
    """One connection over a blocking socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.packet_sizes: list[int] = []
        self._reader = ReplyReader()

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def login(self, user: str, password: str, **options: Any) -> list[Token]:
        self.send(login_record(user, password, **options), LOGIN)
        return self.reply()

    def ask(self, request: str | bytes) -> list[Token]:
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

    def reply(self) -> list[Token]:
        """All tokens up to the end of a message; EOFError where the server closed first."""
        return list(self._reader.tokens(self.message()))

    def message(self) -> bytes:
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
