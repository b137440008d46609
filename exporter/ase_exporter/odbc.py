"""Large result sets over ODBC with bound columns: a call per table, instead of pyodbc's call per cell.

It works on the connection handle of pyodbc, which logs in and out. The driver writes into numpy's memory, which
becomes the columns of a `Table`; no Python object is made for a cell. ctypes gives the GIL away once per call,
pyodbc once per row. For few rows pyodbc is quicker.

Source: ODBC 3 (sql.h, sqlext.h); strings as UTF-16, which is what pyodbc asks FreeTDS for too.
"""

import ctypes
from ctypes import byref, c_short, c_size_t, c_ssize_t, c_ushort, c_void_p
from datetime import datetime
from typing import Any, NamedTuple, Self

import numpy as np
import pyodbc

from ase_exporter.table import SAFE, Table, Texts

# Memory for one call: a table that needs more takes several.
CHUNK = 8 << 20
# A wider string is no name and no state.
WIDEST = 2000

_STATEMENT = 3
_CLOSE = 0
_SUCCESS = (0, 1)
_NO_DATA = 100
_ROW_ARRAY_SIZE = 27
_ROWS_FETCHED = 26
_UNSIGNED = 8
_BIT, _TIMESTAMP, _BIGINT = -7, 93, -5
_TEXTS = frozenset((1, 12, -8, -9))
_DATE = np.dtype("<i2,<u2,<u2,<u2,<u2,<u2,<u4")


class OdbcError(pyodbc.Error):  # type: ignore[misc]  # of a C module
    """What the driver said: `[state] text (number) (function)`, further records behind it."""


class UnbindableError(Exception):
    """The result has a column of a type that is not bound here (numeric, text, image, ...)."""


class TooManyRowsError(Exception):
    """More rows than were to be taken."""


class _Kind(NamedTuple):
    """How a column is bound. code: of the C type; dtype: of one cell; units: UTF-16 units of a string."""

    code: int
    dtype: np.dtype[Any]
    units: int = 1


_INTEGER = _Kind(-25, np.dtype("q"))
_UNSIGNED_INTEGER = _Kind(-27, np.dtype("Q"))
_FLOAT = _Kind(8, np.dtype("d"))
# By SQL type: tinyint, smallint, int, bigint, bit; float, real, double; datetime.
_KINDS = {-6: _INTEGER, 5: _INTEGER, 4: _INTEGER, _BIGINT: _INTEGER, _BIT: _INTEGER}
_KINDS |= {6: _FLOAT, 7: _FLOAT, 8: _FLOAT, _TIMESTAMP: _Kind(93, _DATE)}


class _Column:
    """Memory for one column of so many rows. sql: its SQL type; lengths: bytes per cell, -1 for NULL."""

    def __init__(self, sql: int, kind: _Kind, rows: int) -> None:
        self.sql = sql
        # Behind a string's end there must be nothing: strings are compared whole.
        self.values = np.zeros((rows, kind.units) if kind.units > 1 else rows, kind.dtype)
        self.lengths = np.empty(rows, "q")


def _library() -> Any:
    """The driver manager that pyodbc has loaded, with its functions' types."""
    library = ctypes.CDLL("libodbc.so.2")
    for name, types in {
        "SQLAllocHandle": (c_short, c_void_p, c_void_p),
        "SQLFreeHandle": (c_short, c_void_p),
        "SQLFreeStmt": (c_void_p, c_ushort),
        "SQLCancel": (c_void_p,),
        "SQLSetStmtAttr": (c_void_p, ctypes.c_int, c_void_p, ctypes.c_int),
        "SQLExecDirectW": (c_void_p, ctypes.c_char_p, ctypes.c_int),
        "SQLNumResultCols": (c_void_p, c_void_p),
        "SQLDescribeCol": (c_void_p, c_ushort, c_void_p, c_short, *[c_void_p] * 5),
        "SQLColAttribute": (c_void_p, c_ushort, c_ushort, c_void_p, c_short, c_void_p, c_void_p),
        "SQLBindCol": (c_void_p, c_ushort, c_short, c_void_p, c_ssize_t, c_void_p),
        "SQLFetch": (c_void_p,),
        "SQLMoreResults": (c_void_p,),
        "SQLGetDiagRecW": (c_short, c_void_p, c_short, *[c_void_p] * 3, c_short, c_void_p),
    }.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, c_short
    return library


_odbc = _library()


class Statement:
    """One statement on a connection (a pyodbc `hdbc`); a context manager. One at a time per connection."""

    def __init__(self, connection: int) -> None:
        self._handle = c_void_p()
        if _odbc.SQLAllocHandle(_STATEMENT, connection, byref(self._handle)) < 0:
            raise OdbcError("[HY000] the driver gives no statement handle (0) (SQLAllocHandle)")
        self._fetched = c_size_t()
        self._set(_ROWS_FETCHED, ctypes.addressof(self._fetched))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _odbc.SQLFreeHandle(_STATEMENT, self._handle)

    def cancel(self) -> None:
        """End what runs, from another thread."""
        _odbc.SQLCancel(self._handle)

    def execute(self, sql: str) -> None:
        """Send a batch; its first result is the current one."""
        text = sql.encode("utf-16-le")
        self._check(_odbc.SQLExecDirectW(self._handle, text, len(text) // 2), "SQLExecDirectW")

    def more(self) -> bool:
        """Go on to the next result of the batch, if there is one."""
        code = _odbc.SQLMoreResults(self._handle)
        if code != _NO_DATA:
            self._check(code, "SQLMoreResults")
        return bool(code != _NO_DATA)

    def close(self) -> None:
        """Drop what is left of the results: may wait for the server."""
        _odbc.SQLFreeStmt(self._handle, _CLOSE)

    def table(self, expected: int, most: int) -> Table:
        """The rows of the current result, none where it is no result set. TooManyRowsError beyond `most`.

        expected: rows, about; quickest where it is a little too much.
        """
        kinds = self._describe()
        if not kinds:
            return Table([], 0)
        width = sum(kind.dtype.itemsize * kind.units + 8 for _, kind in kinds)
        at_once = max(1, min(expected, CHUNK // width))
        self._set(_ROW_ARRAY_SIZE, at_once)
        bound = self._bind(kinds, at_once)
        chunks: list[tuple[list[_Column], int]] = []
        rows = 0
        while (code := _odbc.SQLFetch(self._handle)) != _NO_DATA:
            self._check(code, "SQLFetch")
            count = self._fetched.value
            if rows % at_once:
                raise OdbcError("[HY000] rows behind the end of the result (0) (SQLFetch)")
            rows += count
            if rows > most:
                raise TooManyRowsError
            chunks.append((bound, count))
            if count == at_once:
                bound = self._bind(kinds, at_once)
        columns = [
            _joined([(bound[place], count) for bound, count in chunks]) if chunks else []
            for place in range(len(kinds))
        ]
        return Table(columns, rows)

    def _bind(self, kinds: list[tuple[int, _Kind]], rows: int) -> list[_Column]:
        """New memory for so many rows."""
        columns = [_Column(sql, kind, rows) for sql, kind in kinds]
        for number, (column, (_, kind)) in enumerate(zip(columns, kinds, strict=True), 1):
            code = _odbc.SQLBindCol(
                self._handle,
                number,
                kind.code,
                column.values.ctypes.data,
                kind.dtype.itemsize * kind.units,
                column.lengths.ctypes.data,
            )
            self._check(code, "SQLBindCol")
        return columns

    def _describe(self) -> list[tuple[int, _Kind]]:
        """SQL type and way of binding per column. UnbindableError where there is none."""
        count, kind, digits, nullable = c_short(), c_short(), c_short(), c_short()
        size, unsigned = c_size_t(), c_ssize_t()
        self._check(_odbc.SQLNumResultCols(self._handle, byref(count)), "SQLNumResultCols")
        found = []
        for number in range(1, count.value + 1):
            code = _odbc.SQLDescribeCol(
                self._handle, number, None, 0, None, byref(kind), byref(size), byref(digits), byref(nullable)
            )
            self._check(code, "SQLDescribeCol")
            bound = _KINDS.get(kind.value)
            if kind.value == _BIGINT:
                _odbc.SQLColAttribute(self._handle, number, _UNSIGNED, None, 0, None, byref(unsigned))
                bound = _UNSIGNED_INTEGER if unsigned.value else _INTEGER
            elif kind.value in _TEXTS and size.value <= WIDEST:
                # No character takes more units than bytes; one more for the end.
                bound = _Kind(-8, np.dtype("<u2"), size.value + 2)
            if bound is None:
                raise UnbindableError
            found.append((kind.value, bound))
        return found

    def _set(self, attribute: int, value: int) -> None:
        self._check(_odbc.SQLSetStmtAttr(self._handle, attribute, value, 0), "SQLSetStmtAttr")

    def _check(self, code: int, function: str) -> None:
        if code < 0:
            raise OdbcError(self._said(function))

    def _said(self, function: str) -> str:
        """All diagnostic records, as pyodbc joins them."""
        state, text = (c_ushort * 6)(), (c_ushort * 2048)()
        number, length = ctypes.c_int(), c_short()
        records: list[str] = []
        while (
            _odbc.SQLGetDiagRecW(
                _STATEMENT, self._handle, len(records) + 1, state, byref(number), text, 2048, byref(length)
            )
            in _SUCCESS
        ):
            where = "" if records else f" ({function})"
            said = bytes(text)[: 2 * min(length.value, 2047)].decode("utf-16-le", "replace")
            records.append(f"[{bytes(state)[:10].decode('utf-16-le')}] {said} ({number.value}){where}")
        return "; ".join(records) or f"[HY000] the driver gave no reason (0) ({function})"


def _joined(chunks: list[tuple[_Column, int]]) -> Any:
    """A column of a Table from the memory of one or more calls, and how many rows each gave."""
    sql = chunks[0][0].sql
    values, lengths = (
        parts[0] if len(parts) == 1 else np.concatenate(parts)
        for parts in (
            [column.values[:count] for column, count in chunks],
            [column.lengths[:count] for column, count in chunks],
        )
    )
    if sql in _TEXTS:
        # Units that were cut off are not there.
        return Texts(values, np.minimum(lengths // 2, values.shape[1] - 1))
    nulls = lengths < 0
    cells: list[Any]
    if sql == _TIMESTAMP:
        cells = [_datetime(*cell) for cell in np.where(nulls, _NO_DATE, values).tolist()]
    elif sql == _BIT:
        cells = [bool(value) for value in values.tolist()]
    elif nulls.any() or not _is_safe(values):
        cells = values.tolist()
    else:
        return values.astype("q", copy=False) if values.dtype.kind == "u" else values
    return [None if null else cell for cell, null in zip(cells, nulls.tolist(), strict=True)]


def _datetime(year: int, month: int, day: int, hour: int, minute: int, second: int, nanos: int) -> datetime:
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


# What stands for NULL until it is one.
_NO_DATE = np.array((1900, 1, 1, 0, 0, 0, 0), _DATE)


def _is_safe(array: np.ndarray[Any, Any]) -> bool:
    """Whether sums and differences stay exact in 64 bits."""
    return array.dtype.kind == "f" or not array.size or (array.max() < SAFE and array.min() > -SAFE)
