"""Types on the wire: data type token, format and encoding of values for one client."""

import csv
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any

from ase_simulator.results import Type, TypeName
from ase_simulator.tds import values
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import u4

Encoder = Callable[[object], bytes]


class DataType:
    """Data type tokens that are treated in a way of their own."""

    CHAR = 0x2F
    BIT = 0x32
    LONGCHAR = 0xAF
    LONGBINARY = 0xE1


@dataclass(frozen=True, slots=True)
class Entry:
    """A type as types.csv has it.

    family: how its values are written. token: the data type if never NULL (0: there is none); nullable: if it may be.
    code: of struct, for types of fixed size; parts: what turns a value into the fields of the code (None: it is the
    field); scale: follows the size in formats.
    """

    name: TypeName
    family: str
    user_type: int
    token: int
    nullable: int
    code: str
    parts: Callable[[object], object] | None
    scale: bytes

    @property
    def size(self) -> int:
        """Bytes of a value of a type of fixed size."""
        return struct.calcsize("<" + self.code)


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(
        row["name"],
        row["family"],
        int(row["user_type"]),
        int(row["token"], 16),
        int(row["nullable"], 16),
        row["code"],
        getattr(values, row["parts"]) if row["parts"] else None,
        bytes((int(row["scale"]),)) if row["scale"] else b"",
    )


_TEXT = files(__package__).joinpath("types.csv").read_text(encoding="utf-8")
ENTRIES = {row["name"]: _entry(row) for row in csv.DictReader(_TEXT.splitlines())}
LARGE = frozenset(entry.token for entry in ENTRIES.values() if entry.family == "large")

SHORTEST_LONG = 256
MAX_OBJECT = 32 * 1024
_NO_POINTER = bytes(16)
_TIMESTAMP = bytes(8)


@dataclass(frozen=True, slots=True)
class WireType:
    """A type as sent to one client.

    token, format: data type and what follows it in a format, in that of a large object before its table's name;
    encode: value to bytes, length included.
    """

    token: int
    user_type: int
    format: bytes
    encode: Encoder


@lru_cache(maxsize=4096)
def wire_type(kind: Type, nullable: bool, dialect: Dialect) -> WireType:
    """How values of a type are written to a client."""
    entry = ENTRIES[kind.name]
    if entry.family == "fixed":
        return _fixed(entry, nullable)
    if entry.family == "numeric":
        return _numeric(kind, entry)
    write = {"large": _large_object, "unicode": _unicode, "binary": _binary, "characters": _characters}
    return write[entry.family](kind, entry, dialect)


def _fixed(fixed: Entry, nullable: bool) -> WireType:
    write = _writer(struct.Struct("<" + fixed.code), fixed.parts)
    if fixed.token and (not nullable or fixed.token == DataType.BIT):
        return WireType(fixed.token, fixed.user_type, b"", write)
    return WireType(fixed.nullable, fixed.user_type, _byte(fixed.size) + fixed.scale, _sized(write, _byte))


def _writer(layout: struct.Struct, parts: Callable[[object], object] | None) -> Encoder:
    if parts is None:
        return layout.pack

    def write(value: object) -> bytes:
        fields = parts(value)
        return layout.pack(*fields) if isinstance(fields, tuple) else layout.pack(fields)

    return write


def _numeric(kind: Type, entry: Entry) -> WireType:
    precision, scale = kind.precision or 18, kind.scale
    size = values.numeric_size(precision)

    encode = partial(values.encode_numeric, precision=precision, scale=scale)
    return WireType(entry.token, entry.user_type, bytes((size, precision, scale)), _sized(encode, _byte))


def _large_object(kind: Type, entry: Entry, dialect: Dialect) -> WireType:
    def encode(value: object) -> bytes:
        if value is None:
            return b"\0"
        data = dialect.encode(value) if isinstance(value, str) else _bytes(value)
        pointer: bytes = getattr(value, "pointer", _NO_POINTER)
        return bytes((len(pointer),)) + pointer + _TIMESTAMP + u4(len(data)) + data

    return WireType(entry.token, entry.user_type, u4(MAX_OBJECT), encode)


def _unicode(kind: Type, entry: Entry, _dialect: Dialect) -> WireType:
    length = 2 * (kind.length or SHORTEST_LONG - 1)
    padded = kind.name == "unichar"

    def data(value: object) -> bytes:
        text = str(value).ljust(kind.length) if padded else str(value) or " "
        return text.encode("utf-16-le")[:length]

    return WireType(DataType.LONGBINARY, entry.user_type, u4(length), _sized(data, u4))


def _binary(kind: Type, entry: Entry, _dialect: Dialect) -> WireType:
    def data(length: int, value: object) -> bytes:
        part = _bytes(value)[:length]
        return part.ljust(length, b"\0") if kind.name == "binary" else part

    return _of_length(kind.length, entry, data, DataType.LONGBINARY)


def _characters(kind: Type, entry: Entry, dialect: Dialect) -> WireType:
    def data(length: int, value: object) -> bytes:
        part = dialect.cut(str(value), length)
        # ASE has no empty string: '' is one blank
        return part.ljust(length) if entry.token == DataType.CHAR else part or b" "

    return _of_length(kind.length, entry, data, DataType.LONGCHAR)


def _of_length(
    length: int,
    entry: Entry,
    data: Callable[[int, object], bytes],
    long: int,
) -> WireType:
    """A type of up to 255 bytes, or of more. data: cuts a value; long: token of more."""
    if length >= SHORTEST_LONG:
        return WireType(long, entry.user_type, u4(length), _sized(partial(data, length), u4))
    length = length or SHORTEST_LONG - 1
    return WireType(entry.token, entry.user_type, _byte(length), _sized(partial(data, length), _byte))


def long_binary(length: int) -> WireType:
    """Bytes with a four-byte length."""
    return WireType(DataType.LONGBINARY, 225, u4(length), _sized(_bytes, u4))


def _sized(data: Encoder, size: Callable[[int], bytes]) -> Encoder:
    """Values with their length before them, which is 0 for NULL."""

    def encode(value: object) -> bytes:
        part = b"" if value is None else data(value)
        return size(len(part)) + part

    return encode


def _byte(number: int) -> bytes:
    return bytes((number,))


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{value!r} is no binary value")
