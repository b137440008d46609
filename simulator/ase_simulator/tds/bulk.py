"""Bulk copy: the answer to INSERT BULK, and rows and texts as clients send them then.

A row has the layout in which a server stores it: number of variable columns, row number (0), columns of fixed size,
length, columns of variable size, and the places of the latter. Its numbers are little-endian for all clients.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ase_simulator.results import BulkTarget, Column, Rows, Type
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import LITTLE_ENDIAN, Fields, Layout
from ase_simulator.tds.packets import ProtocolError
from ase_simulator.tds.parameters import Format, decode_value, read_formats
from ase_simulator.tds.rows import parameter_formats
from ase_simulator.tds.types import LARGE, DataType, wire_type

_VARIABLE = frozenset(["varchar", "nvarchar", "univarchar", "varbinary", "text", "unitext", "image"])
_NULL_ALLOWED = 0x08
_DESCRIPTION = [
    Column(name, Type("int"), False)
    for name in ("colcnt", "colid", "type", "length", "status", "offset", "dflt")
]
_FORMATS_HEADER = 5


class BulkReader:
    """Describes a table's columns to one client and decodes the rows that it sends."""

    def __init__(self, target: BulkTarget, dialect: Dialect) -> None:
        self._target = target
        self._client = dialect
        self._server = replace(dialect, layout=Layout(LITTLE_ENDIAN))
        self._formats = _formats(target.columns, self._server)
        self._fixed: list[int] = []
        self._variable: list[int] = []
        for place, column in enumerate(target.columns):
            variable = column.nullable or column.type.name in _VARIABLE
            (self._variable if variable else self._fixed).append(place)
        self._large = [place for place, each in enumerate(self._formats) if each.token in LARGE]

    def description(self) -> Iterator[Rows]:
        """A row for each column, whose offset is negative if its place varies; then the defaults, if any."""
        count, at = len(self._formats), 2
        rows = []
        for place, (column, format_) in enumerate(zip(self._target.columns, self._formats, strict=True)):
            fixed = place in self._fixed
            offset = at if fixed else -1 - self._variable.index(place)
            at += format_.length if fixed else 0
            status = _NULL_ALLOWED if column.nullable else 0
            default = int(column.name in self._target.defaults)
            rows.append((count, place + 1, format_.token, format_.length, status, offset, default))
        yield Rows(_DESCRIPTION, rows)
        defaults = [column for column in self._target.columns if column.name in self._target.defaults]
        if defaults:
            yield Rows(defaults, [[self._target.defaults[column.name] for column in defaults]])

    def rows(self, body: bytes) -> tuple[list[Type], list[list[object]]]:
        """The types of the columns and the rows of a message; raises ProtocolError."""
        fields = Fields(body, self._client.order)
        found: list[list[bytes | None]] = []
        while fields:
            if length := fields.u2():
                found.append(self._row(fields.take(length)))
            elif found:
                self._add_large(fields, found[-1])
            else:
                raise ProtocolError("a text before the first row")
        types = [decode_value(format_, None, self._server)[0] for format_ in self._formats]
        return types, [
            [decode_value(each, data, self._server)[1] for each, data in zip(self._formats, row, strict=True)]
            for row in found
        ]

    def _row(self, record: bytes) -> list[bytes | None]:
        fields = Fields(record, LITTLE_ENDIAN)
        count = fields.u1()
        fields.u1()
        row: list[bytes | None] = [None] * len(self._formats)
        bits = left = 0
        for place in self._fixed:
            format_ = self._formats[place]
            if format_.token != DataType.BIT:
                row[place] = fields.take(format_.length)
                continue
            if not left:
                bits, left = fields.u1(), 8
            row[place] = bytes((bits & 1,))
            bits, left = bits >> 1, left - 1
        bounds = _bounds(record, count)
        for place, start, end in zip(self._variable, bounds, bounds[1:], strict=False):
            row[place] = record[start:end] or None
        return row

    def _add_large(self, fields: Fields, row: list[bytes | None]) -> None:
        """A text or image of the row before it, in which its place is empty where it is NULL."""
        fields.u1()
        number = 0xFF - fields.u1()
        fields.u2()
        data = fields.take(fields.u4())
        if number >= len(self._large):
            raise ProtocolError(f"text {number} of {len(self._large)}")
        if row[self._large[number]] is not None:
            row[self._large[number]] = data


def read_text(body: bytes, type_: Type, dialect: Dialect) -> object:
    """The text or image of a message; raises ProtocolError."""
    fields = Fields(body, dialect.order)
    (format_,) = _formats([Column("", type_)], dialect)
    return decode_value(format_, fields.take(fields.u4()), dialect)[1]


def _formats(columns: Sequence[Column], dialect: Dialect) -> list[Format]:
    """The columns as the client sees them in a result set."""
    types = [(column.name, wire_type(column.type, True, dialect)) for column in columns]
    encoded = parameter_formats(dialect, types, wide=True)[_FORMATS_HEADER:]
    return read_formats(Fields(encoded, dialect.order), dialect, wide=True)


def _bounds(record: bytes, count: int) -> list[int]:
    """Where each variable column of a record starts, and where the last one ends.

    The record ends with the low bytes of these places, last one first. Before them is, for each 256 bytes of the row
    from the last to the first, one plus the number of places before it, and before these one byte that is left out
    if such a boundary is within the last column.
    """
    if not count:
        return []
    low = record[-count - 1 :][::-1]
    if len(low) <= count:
        raise ProtocolError(f"{count} columns in {len(record)} bytes")
    blocks, rest = divmod(len(record) - count - 1 - low[count], 257)
    if blocks < 0 or rest > 1:
        raise ProtocolError(f"{count} columns have no place in {len(record)} bytes")
    tables = len(record) - count - 1
    before = [number - 1 for number in record[tables - blocks : tables]]
    return [256 * sum(place >= each for each in before) + low[place] for place in range(count + 1)]
