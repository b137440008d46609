"""Types on the wire: data type token, format and encoding of values for one client."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from ase_simulator.results import Type, TypeName
from ase_simulator.tds import values
from ase_simulator.tds.capabilities import Capabilities, RequestCapability, ResponseCapability
from ase_simulator.tds.dialect import Dialect

Encoder = Callable[[object], bytes]


class DataType:
    """Data type tokens."""

    IMAGE = 0x22
    TEXT = 0x23
    BLOB = 0x24
    VARBINARY = 0x25
    INTN = 0x26
    VARCHAR = 0x27
    BINARY = 0x2D
    CHAR = 0x2F
    INT1 = 0x30
    DATE = 0x31
    BIT = 0x32
    TIME = 0x33
    INT2 = 0x34
    INT4 = 0x38
    SMALLDATETIME = 0x3A
    REAL = 0x3B
    MONEY = 0x3C
    DATETIME = 0x3D
    FLOAT = 0x3E
    UINT2 = 0x41
    UINT4 = 0x42
    UINT8 = 0x43
    UINTN = 0x44
    DECIMAL = 0x6A
    NUMERIC = 0x6C
    FLTN = 0x6D
    MONEYN = 0x6E
    DATETIMN = 0x6F
    SMALLMONEY = 0x7A
    DATEN = 0x7B
    TIMEN = 0x93
    UNITEXT = 0xAE
    LONGCHAR = 0xAF
    SINT1 = 0xB0
    BIGDATETIMEN = 0xBB
    BIGTIMEN = 0xBC
    INT8 = 0xBF
    LONGBINARY = 0xE1


@dataclass(frozen=True, slots=True)
class Fixed:
    """A type of fixed size.

    token: if never NULL (0: there is none); nullable: token if it may be; code: of struct; parts: what
    turns a value into the fields of the code (None: it is the field); scale: follows the size in formats.
    """

    token: int
    nullable: int
    code: str
    user_type: int
    parts: Callable[[object], object] | None = None
    scale: bytes = b""


FIXED: dict[TypeName, Fixed] = {
    "bit": Fixed(DataType.BIT, DataType.BIT, "?", 16),
    "tinyint": Fixed(DataType.INT1, DataType.INTN, "B", 5),
    "unsigned tinyint": Fixed(DataType.INT1, DataType.INTN, "B", 5),
    "smallint": Fixed(DataType.INT2, DataType.INTN, "h", 6),
    "int": Fixed(DataType.INT4, DataType.INTN, "i", 7),
    "bigint": Fixed(DataType.INT8, DataType.INTN, "q", 43),
    "unsigned smallint": Fixed(DataType.UINT2, DataType.UINTN, "H", 44),
    "unsigned int": Fixed(DataType.UINT4, DataType.UINTN, "I", 45),
    "unsigned bigint": Fixed(DataType.UINT8, DataType.UINTN, "Q", 46),
    "real": Fixed(DataType.REAL, DataType.FLTN, "f", 23),
    "float": Fixed(DataType.FLOAT, DataType.FLTN, "d", 8),
    "money": Fixed(DataType.MONEY, DataType.MONEYN, "iI", 11, values.money_parts),
    "smallmoney": Fixed(DataType.SMALLMONEY, DataType.MONEYN, "i", 21, values.money_units),
    "datetime": Fixed(DataType.DATETIME, DataType.DATETIMN, "iI", 12, values.datetime_parts),
    "smalldatetime": Fixed(DataType.SMALLDATETIME, DataType.DATETIMN, "HH", 22, values.smalldatetime_parts),
    "date": Fixed(DataType.DATE, DataType.DATEN, "i", 37, values.date_days),
    "time": Fixed(DataType.TIME, DataType.TIMEN, "I", 38, values.time_ticks),
    "bigdatetime": Fixed(0, DataType.BIGDATETIMEN, "Q", 50, values.bigdatetime_microseconds, b"\x06"),
    "bigtime": Fixed(0, DataType.BIGTIMEN, "Q", 51, values.bigtime_microseconds, b"\x06"),
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A type that only some clients support, and its replacement for the others."""

    request: RequestCapability
    response: ResponseCapability | None
    instead: TypeName
    precision: int = 0


GATES: dict[TypeName, Gate] = {
    "bigint": Gate(RequestCapability.INT8, ResponseCapability.INT8, "numeric", 19),
    "unsigned smallint": Gate(RequestCapability.UINT2, ResponseCapability.UINT2, "int"),
    "unsigned int": Gate(RequestCapability.UINT4, ResponseCapability.UINT4, "bigint"),
    "unsigned bigint": Gate(RequestCapability.UINT8, ResponseCapability.UINT8, "numeric", 20),
    "date": Gate(RequestCapability.DATE, ResponseCapability.DATE, "datetime"),
    "time": Gate(RequestCapability.TIME, ResponseCapability.TIME, "datetime"),
    "bigdatetime": Gate(RequestCapability.BIG_DATETIME, None, "datetime"),
    "bigtime": Gate(RequestCapability.BIG_TIME, None, "time"),
    "unichar": Gate(RequestCapability.LONG_BINARY, ResponseCapability.LONG_BINARY, "char"),
    "univarchar": Gate(RequestCapability.LONG_BINARY, ResponseCapability.LONG_BINARY, "varchar"),
    "unitext": Gate(RequestCapability.UNITEXT, None, "text"),
}

CHARACTERS: dict[TypeName, tuple[int, int]] = {
    "char": (DataType.CHAR, 1),
    "nchar": (DataType.CHAR, 24),
    "varchar": (DataType.VARCHAR, 2),
    "nvarchar": (DataType.VARCHAR, 25),
}
BINARIES: dict[TypeName, tuple[int, int]] = {
    "binary": (DataType.BINARY, 3),
    "varbinary": (DataType.VARBINARY, 4),
}
UNICODE: dict[TypeName, int] = {"unichar": 34, "univarchar": 35}
NUMERICS: dict[TypeName, tuple[int, int]] = {
    "numeric": (DataType.NUMERIC, 10),
    "decimal": (DataType.DECIMAL, 26),
}
LARGE_OBJECTS: dict[TypeName, tuple[int, int]] = {
    "text": (DataType.TEXT, 19),
    "image": (DataType.IMAGE, 20),
    "unitext": (DataType.UNITEXT, 36),
}

LARGE = frozenset(token for token, _ in LARGE_OBJECTS.values())

SHORTEST_LONG = 256
MAX_OBJECT = 32 * 1024
_NO_POINTER = bytes(16)
_TIMESTAMP = bytes(8)


@dataclass(frozen=True, slots=True)
class WireType:
    """A type as sent to one client.

    token, format: data type and what follows it in a format, in that of a large object before its table's name;
    code: its struct code where values are of fixed size and never NULL, else ''; parts: value to the code's
    fields; encode: value to bytes, length included.
    """

    token: int
    user_type: int
    format: bytes
    encode: Encoder
    code: str = ""
    parts: Callable[[object], object] | None = None


def gated(kind: Type, capabilities: Capabilities) -> Type:
    """The type itself, or the nearest one that the client supports."""
    while (gate := GATES.get(kind.name)) and not capabilities.grant(gate.request, gate.response):
        kind = replace(kind, name=gate.instead, precision=gate.precision)
    return kind


@lru_cache(maxsize=4096)
def wire_type(kind: Type, nullable: bool, dialect: Dialect) -> WireType:
    """How values of a type are written to a client."""
    kind = gated(kind, dialect.capabilities)
    name = kind.name
    if name in FIXED:
        return _fixed(FIXED[name], nullable, dialect)
    if name in NUMERICS:
        return _numeric(kind, *NUMERICS[name])
    if name in LARGE_OBJECTS:
        return _large_object(kind, *LARGE_OBJECTS[name], dialect)
    if name in UNICODE:
        return _unicode(kind, UNICODE[name], dialect)
    if name in BINARIES:
        return _binary(kind, *BINARIES[name], dialect)
    return _characters(kind, *CHARACTERS[name], dialect)


def _fixed(fixed: Fixed, nullable: bool, dialect: Dialect) -> WireType:
    layout = struct.Struct(dialect.order + fixed.code)
    write = _writer(layout, fixed.parts)
    if fixed.token == DataType.BIT:
        return WireType(DataType.BIT, fixed.user_type, b"", write, "?", None)
    if fixed.token and not nullable:
        return WireType(fixed.token, fixed.user_type, b"", write, fixed.code, fixed.parts)
    size = bytes((layout.size,))

    def encode(value: object) -> bytes:
        return b"\0" if value is None else size + write(value)

    return WireType(fixed.nullable, fixed.user_type, size + fixed.scale, encode)


def _writer(layout: struct.Struct, parts: Callable[[object], object] | None) -> Encoder:
    if parts is None:
        return layout.pack

    def write(value: object) -> bytes:
        fields = parts(value)
        return layout.pack(*fields) if isinstance(fields, tuple) else layout.pack(fields)

    return write


def _numeric(kind: Type, token: int, user_type: int) -> WireType:
    precision, scale = kind.precision or 18, kind.scale
    size = values.numeric_size(precision)

    def encode(value: object) -> bytes:
        if value is None:
            return b"\0"
        return bytes((size,)) + values.encode_numeric(value, precision, scale)

    return WireType(token, user_type, bytes((size, precision, scale)), encode)


def _large_object(kind: Type, token: int, user_type: int, dialect: Dialect) -> WireType:
    layout = dialect.layout

    def encode(value: object) -> bytes:
        if value is None:
            return b"\0"
        if isinstance(value, str):
            data = value.encode(layout.utf16) if token == DataType.UNITEXT else dialect.encode(value)
        else:
            data = _bytes(value)
        pointer: bytes = getattr(value, "pointer", _NO_POINTER)
        return bytes((len(pointer),)) + pointer + _TIMESTAMP + layout.u4(len(data)) + data

    return WireType(token, user_type, layout.u4(MAX_OBJECT), encode)


def _unicode(kind: Type, user_type: int, dialect: Dialect) -> WireType:
    layout = dialect.layout
    length = 2 * (kind.length or SHORTEST_LONG - 1)
    padded = kind.name == "unichar"

    def encode(value: object) -> bytes:
        if value is None:
            return layout.u4(0)
        text = str(value).ljust(kind.length) if padded else str(value) or " "
        data = text.encode(layout.utf16)[:length]
        return layout.u4(len(data)) + data

    return WireType(DataType.LONGBINARY, user_type, layout.u4(length), encode)


def _binary(kind: Type, token: int, user_type: int, dialect: Dialect) -> WireType:
    length = kind.length or SHORTEST_LONG - 1
    padded = kind.name == "binary"

    def data(value: object) -> bytes:
        part = _bytes(value)[:length]
        return part.ljust(length, b"\0") if padded else part

    if length < SHORTEST_LONG:
        return WireType(token, user_type, bytes((length,)), _short(data))
    if dialect.capabilities.grant(RequestCapability.LONG_BINARY, ResponseCapability.LONG_BINARY):
        return WireType(DataType.LONGBINARY, user_type, dialect.layout.u4(length), _long(data, dialect))
    return _binary(replace(kind, length=SHORTEST_LONG - 1), token, user_type, dialect)


def _characters(kind: Type, token: int, user_type: int, dialect: Dialect) -> WireType:
    length = kind.length or SHORTEST_LONG - 1
    padded = token == DataType.CHAR

    def data(value: object) -> bytes:
        part = dialect.cut(str(value), length)
        # ASE has no empty string: '' is one blank
        return part.ljust(length) if padded else part or b" "

    if length < SHORTEST_LONG:
        return WireType(token, user_type, bytes((length,)), _short(data))
    if dialect.capabilities.grant(RequestCapability.LONG_CHAR, ResponseCapability.LONG_CHAR):
        return WireType(DataType.LONGCHAR, user_type, dialect.layout.u4(length), _long(data, dialect))
    return _characters(replace(kind, length=SHORTEST_LONG - 1), token, user_type, dialect)


def long_binary(length: int, dialect: Dialect) -> WireType:
    """Bytes with a four-byte length."""
    return WireType(DataType.LONGBINARY, 225, dialect.layout.u4(length), _long(_bytes, dialect))


def _short(data: Encoder) -> Encoder:
    def encode(value: object) -> bytes:
        if value is None:
            return b"\0"
        part = data(value)
        return bytes((len(part),)) + part

    return encode


def _long(data: Encoder, dialect: Dialect) -> Encoder:
    u4 = dialect.layout.u4

    def encode(value: object) -> bytes:
        if value is None:
            return u4(0)
        part = data(value)
        return u4(len(part)) + part

    return encode


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{value!r} is no binary value")
