"""Fetches large result sets over ODBC with bound columns: one call per array of rows, not one per cell.

It uses pyodbc's connection handle, which pyodbc opens and closes. The driver writes into numpy's memory, which
becomes the columns of `Columns`, so no Python object is created per cell. ctypes releases the GIL once per call,
pyodbc once per row. For few rows pyodbc is faster.

Source: ODBC 3 (sql.h, sqlext.h). Strings are fetched as bytes and decoded here, see `text`.
"""

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from ctypes import byref, c_short, c_size_t, c_ssize_t, c_ushort, c_void_p
from datetime import datetime
from typing import Any, NamedTuple, Self

import numpy as np
import pyodbc

from ase_exporter.ase.text import decode_wide
from ase_exporter.metrics.columns import SAFE, Columns, TextColumn

# Bytes per call; a larger result takes several calls.
CHUNK = 8 << 20
# Columns with wider strings (bytes) are not bound: names and states are shorter.
MAX_STRING = 2000
# Bytes of a row in memory. Rows that may be wider, by what the server announces, are not fetched here.
MAX_WIDTH = 4096

# Encloses a call of the driver that reads at most so many bytes of rows.
Bounded = Callable[[int], AbstractContextManager[None]]

_MAX_RECORDS = 100
_MAX_NAME = 256
_STATEMENT = 3
_CLOSE = 0
_SUCCESS = (0, 1)
_NO_DATA = 100
_ROW_ARRAY_SIZE = 27
_ROWS_FETCHED = 26
_UNSIGNED = 8
_BIT, _TIMESTAMP, _BIGINT = -7, 93, -5
_NARROW, _WIDE = frozenset((1, 12)), frozenset((-8, -9))
_STRINGS = _NARROW | _WIDE
_BLANK, _PRINTABLE = np.uint8(ord(" ")), ord("~") - ord(" ") + 1
_DATE = np.dtype("<i2,<u2,<u2,<u2,<u2,<u2,<u4")


class OdbcError(pyodbc.Error):  # type: ignore[misc]  # of a C module
    """The driver's diagnostic records, as `[state] text (number) (function); [state] text (number) ...`."""


class UnbindableError(Exception):
    """The result has a column of a type that is not supported here (numeric, text, image, ...), or is too wide."""


class TooManyRowsError(Exception):
    """The result has more rows than allowed."""


class _Kind(NamedTuple):
    """How a column is bound. code: C type; dtype: of one cell; width: bytes of a string, else 1."""

    code: int
    dtype: np.dtype[Any]
    width: int = 1


_INTEGER = _Kind(-25, np.dtype("q"))
_UNSIGNED_INTEGER = _Kind(-27, np.dtype("Q"))
_FLOAT = _Kind(8, np.dtype("d"))
# By SQL type: tinyint, smallint, int, bigint, bit; float, real, double; datetime.
_KINDS = {-6: _INTEGER, 5: _INTEGER, 4: _INTEGER, _BIGINT: _INTEGER, _BIT: _INTEGER}
_KINDS |= {6: _FLOAT, 7: _FLOAT, 8: _FLOAT, _TIMESTAMP: _Kind(93, _DATE)}


class _Column:
    """The memory of one column. sql: SQL type; lengths: bytes per cell, -1 for NULL."""

    def __init__(self, sql: int, kind: _Kind, rows: int) -> None:
        self.sql = sql
        # Zeroed, as strings are compared with their padding.
        self.values = np.zeros((rows, kind.width) if sql in _STRINGS else rows, kind.dtype)
        self.lengths = np.empty(rows, "q")


def _library() -> Any:
    """The driver manager that pyodbc has loaded, with the types of its functions."""
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
    """A statement on a connection (pyodbc's `hdbc`); a context manager. One at a time per connection."""

    def __init__(self, connection: int, decode: Callable[[bytes], str]) -> None:
        """decode: of strings."""
        self._decode = decode
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
        """Cancel the running call, from another thread."""
        _odbc.SQLCancel(self._handle)

    def execute(self, sql: str) -> None:
        """Send a batch; its first result becomes the current one."""
        text = sql.encode("utf-16-le")
        self._check(_odbc.SQLExecDirectW(self._handle, text, len(text) // 2), "SQLExecDirectW")

    def next_result(self) -> bool:
        """Move to the next result of the batch; False if there is none."""
        code = _odbc.SQLMoreResults(self._handle)
        if code != _NO_DATA:
            self._check(code, "SQLMoreResults")
        return bool(code != _NO_DATA)

    def close(self) -> None:
        """Discard the remaining results. May wait for the server."""
        _odbc.SQLFreeStmt(self._handle, _CLOSE)

    def fetch(self, expected_rows: int, max_rows: int, bounded: Bounded, max_bytes: int = CHUNK) -> Columns:
        """The rows of the current result; empty if it is not a result set.

        expected_rows: fastest if slightly too high. max_bytes: memory for one call.
        Raises TooManyRowsError for more than `max_rows`, UnbindableError for an unsupported type.
        """
        with bounded(0):
            kinds, names = self._describe()
            if not kinds:
                return Columns([], 0)
            width = sum(kind.dtype.itemsize * kind.width + 8 for _, kind in kinds)
            if width > MAX_WIDTH:
                raise UnbindableError
            at_once = max(1, min(expected_rows, max_bytes // width))
            self._set(_ROW_ARRAY_SIZE, at_once)
        chunks: list[tuple[list[_Column], int]] = []
        rows = 0
        while True:
            with bounded(at_once * width):
                if rows % at_once == 0:
                    # After a chunk that is not full, there is nothing but the end.
                    bound = self._bind(kinds, at_once)
                code = _odbc.SQLFetch(self._handle)
                if code == _NO_DATA:
                    break
                self._check(code, "SQLFetch")
                if rows % at_once:
                    raise OdbcError("[HY000] rows after the end of the result (0) (SQLFetch)")
            rows += self._fetched.value
            if rows > max_rows:
                raise TooManyRowsError
            chunks.append((bound, self._fetched.value))
        with bounded(0):
            columns = [
                _joined([(bound[index], count) for bound, count in chunks], self._decode) if chunks else []
                for index in range(len(kinds))
            ]
        return Columns(columns, rows, names)

    def _bind(self, kinds: list[tuple[int, _Kind]], rows: int) -> list[_Column]:
        """Bind newly allocated columns for that many rows."""
        columns = [_Column(sql, kind, rows) for sql, kind in kinds]
        for number, (column, (_, kind)) in enumerate(zip(columns, kinds, strict=True), 1):
            code = _odbc.SQLBindCol(
                self._handle,
                number,
                kind.code,
                column.values.ctypes.data,
                kind.dtype.itemsize * kind.width,
                column.lengths.ctypes.data,
            )
            self._check(code, "SQLBindCol")
        return columns

    def _describe(self) -> tuple[list[tuple[int, _Kind]], tuple[str, ...]]:
        """SQL type and binding per column, and its name. Raises UnbindableError for an unsupported type."""
        count, kind, digits, nullable = c_short(), c_short(), c_short(), c_short()
        size, unsigned = c_size_t(), c_ssize_t()
        name, length = ctypes.create_string_buffer(_MAX_NAME), c_short()
        self._check(_odbc.SQLNumResultCols(self._handle, byref(count)), "SQLNumResultCols")
        found, names = [], []
        for number in range(1, count.value + 1):
            code = _odbc.SQLDescribeCol(
                self._handle,
                number,
                name,
                _MAX_NAME,
                byref(length),
                byref(kind),
                byref(size),
                byref(digits),
                byref(nullable),
            )
            self._check(code, "SQLDescribeCol")
            bound = _KINDS.get(kind.value)
            if kind.value == _BIGINT:
                _odbc.SQLColAttribute(self._handle, number, _UNSIGNED, None, 0, None, byref(unsigned))
                bound = _UNSIGNED_INTEGER if unsigned.value else _INTEGER
            elif kind.value in _STRINGS and size.value <= MAX_STRING:
                # Sizes are in characters, of at most four bytes in UTF-16; narrow ones have their size in bytes.
                bytes_each = 4 if kind.value in _WIDE else 1
                bound = _Kind(-2, np.dtype("u1"), max(size.value * bytes_each, 1))
            if bound is None:
                raise UnbindableError
            found.append((kind.value, bound))
            names.append(name.value.decode("ascii", "replace"))
        return found, tuple(names)

    def _set(self, attribute: int, value: int) -> None:
        self._check(_odbc.SQLSetStmtAttr(self._handle, attribute, value, 0), "SQLSetStmtAttr")

    def _check(self, code: int, function: str) -> None:
        if code < 0:
            raise OdbcError(self._diagnostics(function))

    def _diagnostics(self, function: str) -> str:
        """The diagnostic records, joined as pyodbc does; the first ones, as reading n takes time of order n squared."""
        state, text = (c_ushort * 6)(), (c_ushort * 2048)()
        number, length = ctypes.c_int(), c_short()
        records: list[str] = []
        while (
            len(records) < _MAX_RECORDS
            and _odbc.SQLGetDiagRecW(
                _STATEMENT, self._handle, len(records) + 1, state, byref(number), text, 2048, byref(length)
            )
            in _SUCCESS
        ):
            where = "" if records else f" ({function})"
            message = bytes(text)[: 2 * min(length.value, 2047)].decode("utf-16-le", "replace")
            records.append(f"[{bytes(state)[:10].decode('utf-16-le')}] {message} ({number.value}){where}")
        return "; ".join(records) or f"[HY000] the driver gave no reason (0) ({function})"


def _joined(chunks: list[tuple[_Column, int]], decode: Callable[[bytes], str]) -> Any:
    """One column of `Columns` from the memory of one or more calls, each with its number of rows."""
    sql = chunks[0][0].sql
    values, lengths = (
        parts[0] if len(parts) == 1 else np.concatenate(parts)
        for parts in (
            [column.values[:count] for column, count in chunks],
            [column.lengths[:count] for column, count in chunks],
        )
    )
    if sql in _STRINGS:
        # The length of a truncated string counts the bytes that were cut off.
        return _text(values, np.minimum(lengths, values.shape[1]), decode_wide if sql in _WIDE else decode)
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


def _text(
    values: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any], decode: Callable[[bytes], str]
) -> TextColumn | list[str | None]:
    """A column of strings from their bytes (rows x width) and lengths."""
    # Bytes wrap around: only printable ASCII is below the number of its characters.
    plain = np.count_nonzero(values - _BLANK < _PRINTABLE)
    if decode is not decode_wide and plain == lengths.clip(0).sum():
        return TextColumn(values.astype("<u2"), lengths)
    return [
        None if length < 0 else decode(row[:length].tobytes())
        for row, length in zip(values, lengths.tolist(), strict=True)
    ]


def _datetime(year: int, month: int, day: int, hour: int, minute: int, second: int, nanos: int) -> datetime:
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


# Replaced by None afterwards.
_NO_DATE = np.array((1900, 1, 1, 0, 0, 0, 0), _DATE)


def _is_safe(array: np.ndarray[Any, Any]) -> bool:
    """Whether sums and differences of the values fit into 64 bits."""
    return array.dtype.kind == "f" or not array.size or (array.max() < SAFE and array.min() > -SAFE)
