"""A small TDS 5.0 client, in either byte order, that returns every token of a reply."""

import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

HEADER = struct.Struct(">BBHHBB")
LOGIN, REPLY, ATTENTION, BULK, NORMAL = 2, 4, 6, 7, 15
EOM = 1

# What FreeTDS sends.
REQUESTS = {*range(1, 39), 40, 42, 43, 45, 46, 48, 49, 50, 51, 59, 61, 62, 63, 64, 71, 72, 79, 83, 93, 94}
REJECTIONS = {27, 29, 30, 33}

DONE_TOKENS = {0xFD: "DONE", 0xFE: "DONEPROC", 0xFF: "DONEINPROC"}
MORE, ERROR, IN_TRANSACTION, COUNT, ATTENTION_ACK = 0x01, 0x02, 0x04, 0x10, 0x20
FIXED_SIZES = {
    **dict.fromkeys((0x30, 0x32), 1),
    **dict.fromkeys((0x34, 0x41), 2),
    **dict.fromkeys((0x38, 0x3A, 0x3B, 0x42, 0x7A, 0x31, 0x33), 4),
    **dict.fromkeys((0x3C, 0x3D, 0x3E, 0x43, 0xBF), 8),
}
SHORT = {0x25, 0x26, 0x27, 0x2D, 0x2F, 0x44, 0x6D, 0x6E, 0x6F, 0x7B, 0x93}
LONG = {0xAF, 0xE1}
TEXT = {0x22, 0x23, 0xAE}
SCALED = {0xBB, 0xBC}
EXACT = {0x6A, 0x6C}


@dataclass
class Column:
    """One column of a format as the server declared it."""

    name: str
    status: int
    user_type: int
    type: int
    length: int = 0


@dataclass
class Token:
    """name: of the token; the rest by what it is."""

    name: str
    fields: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


def mask(bits: Iterable[int], size: int = 14) -> bytes:
    return sum(1 << bit for bit in bits).to_bytes(size, "big")


class Codec:
    """Builds requests and reads replies in one byte order ('<' or '>')."""

    def __init__(self, order: str = "<") -> None:
        self.order = order

    def u2(self, value: int) -> bytes:
        return struct.pack(self.order + "H", value)

    def u4(self, value: int) -> bytes:
        return struct.pack(self.order + "I", value)

    def login(
        self,
        user: str,
        password: str,
        *,
        charset: str = "utf8",
        packet_size: int = 512,
        security: int = 0,
    ) -> bytes:
        """The login record and capabilities."""

        def name(text: str, size: int = 30) -> bytes:
            data = text.encode("utf-8")
            return data.ljust(size, b"\0") + bytes((len(data),))

        order = bytes((3 if self.order == "<" else 2,))
        record = b"".join(
            (
                *(name("host"), name(user), name(password), name("42")),
                *(order, bytes(15)),
                *(name("raw"), name(""), bytes(256), b"\5\0\0\0", name("raw", 10), bytes(7)),
                *(name("us_english"), bytes(3), bytes((security,)), bytes(10), name(charset), b"\1"),
                *(name(str(packet_size), 6), bytes(4)),
            )
        )
        asked, spared = mask(REQUESTS), mask(REJECTIONS)
        body = bytes((1, len(asked))) + asked + bytes((2, len(spared))) + spared
        return record + b"\xe2" + self.u2(len(body)) + body

    def language(self, sql: str) -> bytes:
        data = sql.encode("utf-8")
        return b"\x21" + self.u4(len(data) + 1) + b"\0" + data


class ReplyReader:
    """Reads replies."""

    def __init__(self, order: str) -> None:
        self._order = order
        self._data = b""
        self._at = 0
        self._columns: list[Column] = []

    def tokens(self, data: bytes) -> Iterator[Token]:
        self._data = data
        self._at = 0
        while self._at < len(data):
            yield self._token()

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        assert len(part) == size, "the reply ends within a token"
        self._at += size
        return part

    def _int(self, code: str) -> int:
        layout = struct.Struct(self._order + code)
        return int(layout.unpack(self._take(layout.size))[0])

    def _short(self) -> bytes:
        return self._take(self._take(1)[0])

    def _token(self) -> Token:
        token = self._take(1)[0]
        if token in DONE_TOKENS:
            status, transaction, count = self._int("H"), self._int("H"), self._int("I")
            return Token(DONE_TOKENS[token], {"status": status, "transaction": transaction, "count": count})
        if token in (0xD1, 0xD7):
            values = [self._value(column) for column in self._columns]
            return Token("ROW" if token == 0xD1 else "PARAMS", {"values": values})
        if token == 0x79:
            return Token("RETURNSTATUS", {"value": self._int("i")})
        size = {0x61: "I", 0x65: "B"}.get(token, "H")
        end = self._int(size) + self._at
        readers: dict[int, Callable[[], Token]] = {
            0xE5: self._message,
            0xE3: self._environment,
            0xAD: self._login_answer,
            0x61: lambda: self._format("ROWFMT2"),
            0xEC: lambda: self._format("PARAMFMT"),
            0xE2: lambda: Token("CAPABILITY", {"body": self._take(end - self._at)}),
            0x65: lambda: Token("MSG", {"status": self._int("B"), "id": self._int("H")}),
        }
        read = readers[token]()
        assert self._at == end, read
        return read

    def _message(self) -> Token:
        number, state, severity = self._int("i"), self._int("B"), self._int("B")
        sqlstate = self._short()
        self._take(3)
        text = self._take(self._int("H")).decode()
        server, procedure, line = self._short().decode(), self._short().decode(), self._int("H")
        names = ("number", "state", "severity", "sqlstate", "text", "server", "procedure", "line")
        fields = (number, state, severity, sqlstate, text, server, procedure, line)
        return Token("EED", dict(zip(names, fields, strict=True)))

    def _environment(self) -> Token:
        kind, new, old = self._int("B"), self._short().decode(), self._short().decode()
        return Token("ENVCHANGE", {"kind": kind, "new": new, "old": old})

    def _login_answer(self) -> Token:
        status, version, name = self._int("B"), self._take(4), self._short().decode()
        server = self._take(4)
        return Token("LOGINACK", {"status": status, "version": version, "name": name, "server": server})

    def _format(self, name: str) -> Token:
        self._columns = [self._column(wide=name == "ROWFMT2") for _ in range(self._int("H"))]
        return Token(name, {"columns": self._columns})

    def _column(self, *, wide: bool) -> Column:
        name = self._short().decode()
        if wide:
            _catalogue, _schema, _table, name = (self._short().decode() for _ in range(4))
        status = self._int("I") if wide else self._int("B")
        column = Column(name, status, self._int("I"), self._int("B"))
        kind = column.type
        if kind in FIXED_SIZES:
            column.length = FIXED_SIZES[kind]
        elif kind in SHORT:
            column.length = self._int("B")
        elif kind in SCALED:
            column.length = self._take(2)[0]
        elif kind in EXACT:
            column.length = self._take(3)[0]
        elif kind in LONG:
            column.length = self._int("I")
        elif kind in TEXT:
            column.length = self._int("I")
            self._take(self._int("H"))
        else:
            raise AssertionError(f"type 0x{kind:02x}")
        self._short()
        return column

    def _value(self, column: Column) -> bytes | None:
        kind = column.type
        if kind in FIXED_SIZES:
            return self._take(column.length)
        if kind in LONG:
            return self._take(self._int("I")) or None
        if kind in TEXT:
            if not self._short():
                return None
            self._take(8)
            return self._take(self._int("I"))
        return self._short() or None


class RawClient:
    """One connection over a blocking socket."""

    def __init__(self, port: int, order: str = "<") -> None:
        self.codec = Codec(order)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.packet_sizes: list[int] = []
        self._reader = ReplyReader(order)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def login(self, user: str, password: str, **options: Any) -> list[Token]:
        self.send(self.codec.login(user, password, **options), LOGIN)
        return self.reply()

    def ask(self, body: bytes, kind: int = NORMAL) -> list[Token]:
        self.send(body, kind)
        return self.reply()

    def send(self, body: bytes, kind: int = NORMAL, size: int = 512) -> None:
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
