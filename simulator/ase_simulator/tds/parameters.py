"""Parameters that a client sends: formats and values, decoded to Parameter."""

import struct
from dataclasses import dataclass

from ase_simulator.contracts import Parameter
from ase_simulator.results import Type, TypeName
from ase_simulator.tds import values
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import Fields
from ase_simulator.tds.packets import ProtocolError
from ase_simulator.tds.types import ENTRIES, LARGE, DataType

STATUS_OUTPUT = 0x01
STATUS_HAS_COLUMN_STATUS = 0x08
COLUMN_STATUS_NULL = 0x01

_FIXED = [entry for entry in ENTRIES.values() if entry.family == "fixed"]
_INTN, _UINTN, _SINT1 = ENTRIES["int"].nullable, ENTRIES["unsigned int"].nullable, 0xB0
# Token of a type that is never NULL: the token of those that may be, and the size.
SIZED = {entry.token: (entry.nullable, entry.size) for entry in _FIXED if entry.token} | {_SINT1: (_INTN, 1)}
# Token and size of a value: its type.
DECODED = {(entry.nullable, entry.size): entry for entry in reversed(_FIXED)}
DECODED[_UINTN, 1] = ENTRIES["unsigned tinyint"]

UNICODE_USER_TYPES = (34, 35, 36)
FIXED_SIZE = {entry.nullable for entry in _FIXED}
SCALED = {entry.nullable for entry in _FIXED if entry.scale}
SHORT = FIXED_SIZE - SCALED - {DataType.BIT} | {
    entry.token for entry in ENTRIES.values() if entry.family in ("characters", "binary")
}
EXACT = {entry.token for entry in ENTRIES.values() if entry.family == "numeric"}


@dataclass(frozen=True, slots=True)
class Format:
    """Format of one parameter as the client declares it."""

    name: str
    status: int
    user_type: int
    token: int
    length: int
    precision: int = 0
    scale: int = 0


def read_formats(fields: Fields, dialect: Dialect, *, wide: bool) -> list[Format]:
    """The body of PARAMFMT or, wide, of PARAMFMT2."""
    count = fields.u2()
    return [_format(fields, dialect, wide) for _ in range(count)]


def _format(fields: Fields, dialect: Dialect, wide: bool) -> Format:
    name = dialect.decode(fields.short_bytes())
    status = fields.u4() if wide else fields.u1()
    user_type = fields.u4()
    token = fields.u1()
    length = precision = scale = 0
    if token in SIZED:
        length = SIZED[token][1]
    elif token in SHORT:
        length = fields.u1()
    elif token in SCALED:
        length, scale = fields.u1(), fields.u1()
    elif token in EXACT:
        length, precision, scale = fields.u1(), fields.u1(), fields.u1()
    elif token in LARGE:
        length = fields.u4()
        fields.take(fields.u2())
    elif token in (DataType.LONGCHAR, DataType.LONGBINARY):
        length = fields.u4()
    elif token == DataType.BLOB:
        length = fields.u1()
        fields.take(fields.u2())
    else:
        raise ProtocolError(f"unknown parameter type 0x{token:02x}")
    fields.short_bytes()  # locale
    return Format(name, status, user_type, token, length, precision, scale)


def read_values(fields: Fields, formats: list[Format], dialect: Dialect) -> list[Parameter]:
    """The body of PARAMS."""
    last = len(formats) - 1
    return [_parameter(fields, format_, dialect, last=place == last) for place, format_ in enumerate(formats)]


def _parameter(fields: Fields, format_: Format, dialect: Dialect, *, last: bool) -> Parameter:
    null = False
    if format_.status & STATUS_HAS_COLUMN_STATUS:
        null = bool(fields.u1() & COLUMN_STATUS_NULL)
    data = None if null else _data(fields, format_, last)
    kind, value = decode_value(format_, data, dialect)
    return Parameter(format_.name, kind, value, output=bool(format_.status & STATUS_OUTPUT))


def _data(fields: Fields, format_: Format, last: bool) -> bytes | None:
    token = format_.token
    if token in SIZED:
        return fields.take(format_.length)
    if token == DataType.BLOB:
        return _blob(fields)
    if token in LARGE:
        if fields.short_bytes():
            fields.take(8)
        elif not (last and fields):  # go-ase sends neither pointer nor timestamp; others mean NULL
            return None
        return fields.take(fields.u4())
    if token in (DataType.LONGCHAR, DataType.LONGBINARY):
        return fields.take(fields.u4()) or None
    return fields.short_bytes() or None


def _blob(fields: Fields) -> bytes:
    """Chunks, each behind a length whose highest bit says that more follow."""
    fields.u1()  # serialisation
    fields.take(fields.u2())  # class or locator
    chunks = []
    more = True
    while more:
        length = fields.u4()
        more = bool(length & 0x80000000)
        chunks.append(fields.take(length & 0x7FFFFFFF))
    return b"".join(chunks)


_CHARACTER_BLOB = 3
_BINARY_BLOB = 4


def decode_value(format_: Format, data: bytes | None, dialect: Dialect) -> tuple[Type, object]:
    """The type of a value, and the value from its bytes; raises ProtocolError."""
    try:
        return _value(format_, data, dialect)
    except (struct.error, KeyError, OverflowError, ValueError) as error:
        raise ProtocolError(f"value {format_.name!r} of type 0x{format_.token:02x}: {error}") from None


def _value(format_: Format, data: bytes | None, dialect: Dialect) -> tuple[Type, object]:
    token, length = SIZED.get(format_.token, (format_.token, format_.length))
    if token == DataType.BIT:
        return Type("bit"), None if data is None else bool(data[0])
    if token in FIXED_SIZE:
        entry = DECODED[token, length if data is None else len(data)]
        if data is None:
            return Type(entry.name), None
        decode = entry.decode
        value = decode(data, dialect.order) if decode else struct.unpack(dialect.order + entry.code, data)[0]
        return Type(entry.name), value
    if token in EXACT:
        exact = Type("numeric", precision=format_.precision, scale=format_.scale)
        return exact, None if data is None else values.decode_numeric(data, format_.scale)
    return _string(format_, data, dialect)


def _string(format_: Format, data: bytes | None, dialect: Dialect) -> tuple[Type, object]:
    token, length = format_.token, format_.length
    if token == DataType.UNITEXT:
        return Type("unitext"), None if data is None else data.decode(dialect.layout.utf16, "replace")
    if token == DataType.LONGBINARY and format_.user_type in UNICODE_USER_TYPES:
        name: TypeName = "unichar" if format_.user_type == UNICODE_USER_TYPES[0] else "univarchar"
        return Type(name, length // 2), None if data is None else data.decode(dialect.layout.utf16, "replace")
    if token in (DataType.CHAR, DataType.VARCHAR, DataType.LONGCHAR):
        name = "char" if token == DataType.CHAR else "varchar"
        return Type(name, length), None if data is None else dialect.decode(data)
    if token == DataType.TEXT or (token == DataType.BLOB and length == _CHARACTER_BLOB):
        return Type("text"), None if data is None else dialect.decode(data)
    if token == DataType.BLOB and length != _BINARY_BLOB:
        return Type("unitext"), None if data is None else data.decode(dialect.layout.utf16, "replace")
    if token in (DataType.IMAGE, DataType.BLOB):
        return Type("image"), data
    return Type("binary" if token == DataType.BINARY else "varbinary", length), data
