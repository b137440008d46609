"""Encodes result sets, and parameters of the login: formats and rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ase_simulator.results import Column
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import u2, u4
from ase_simulator.tds.types import LARGE, WireType, wire_type

NULL_ALLOWED = 0x20
ROWS_A_BLOCK = 256

_ROW = 0xD1
_PARAMS = b"\xd7"
_MAX_NAME = 255

RowWriter = Callable[[Sequence[object]], bytes]


class RowFormat:
    """The columns of one result set for one client."""

    def __init__(self, columns: Sequence[Column], dialect: Dialect) -> None:
        self._columns = columns
        self._dialect = dialect
        self._types = [wire_type(column.type, column.nullable, dialect) for column in columns]
        self.write = row_writer(self._types)

    def encode(self) -> bytes:
        """ROWFMT2."""
        parts = [u2(len(self._columns))]
        for column, kind in zip(self._columns, self._types, strict=True):
            name = _name(self._dialect, column.name)
            status = u4(NULL_ALLOWED * column.nullable)
            # The label, then catalogue, schema and table (left empty), and the name.
            parts.append(name + bytes(3) + name + status + _type(kind))
        body = b"".join(parts)
        return b"\x61" + u4(len(body)) + body

    def blocks(self, rows: Iterable[Sequence[object]]) -> Iterator[tuple[int, bytes]]:
        """ROW tokens in blocks with their numbers of rows; an error is raised after the rows before it."""
        written = map(self.write, rows)
        failure: Exception | None = None
        while failure is None:
            block: list[bytes] = []
            try:
                block.extend(islice(written, ROWS_A_BLOCK))
            except Exception as error:
                failure = error
            if block:
                yield len(block), b"".join(block)
            elif failure is None:
                return
        raise failure


def row_writer(types: Sequence[WireType]) -> RowWriter:
    """Writes one ROW token."""
    encoders = [kind.encode for kind in types]
    token = bytes((_ROW,))

    def write(row: Sequence[object]) -> bytes:
        return token + b"".join([encode(value) for encode, value in zip(encoders, row, strict=True)])

    return write


def parameter_formats(types: Sequence[WireType]) -> bytes:
    """PARAMFMT of nameless parameters."""
    parts = [u2(len(types)), *(bytes(2) + _type(kind) for kind in types)]
    body = b"".join(parts)
    return b"\xec" + u2(len(body)) + body


def parameter_values(types: Sequence[WireType], values: Sequence[object]) -> bytes:
    """PARAMS that follow their formats."""
    return _PARAMS + b"".join([kind.encode(value) for kind, value in zip(types, values, strict=True)])


def _name(dialect: Dialect, name: str) -> bytes:
    data = dialect.cut(name, _MAX_NAME)
    return bytes((len(data),)) + data


def _type(kind: WireType) -> bytes:
    table = bytes(2) if kind.token in LARGE else b""  # a name, left empty
    return u4(kind.user_type) + bytes((kind.token,)) + kind.format + table + bytes(1)
