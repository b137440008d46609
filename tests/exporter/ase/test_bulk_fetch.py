"""Fetching with bound columns gives what pyodbc gives, including its errors."""

import contextlib
import resource
import struct
import sys
import time
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from tests.exporter.ase.test_connection import connect, flooded
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_exporter.ase import bulk_fetch
from ase_exporter.ase.connection import Connection, DatabaseError
from ase_exporter.metrics.columns import MIN_ARRAY_ROWS, Columns, TextColumn, has_arrays, same
from ase_simulator.results import Column, Rows, Type

MANY = MIN_ARRAY_ROWS + 500
QUERY = f"numbers {MANY}"
NAMES = ["", "a", "naïve", "x" * 30, "a\0b", 'quo"te', "back\\slash", "new\nline", "\U0001f600" * 3]


def soon() -> float:
    return time.monotonic() + 30


def large(connection: Connection, sql: str) -> Columns:
    """The result of the second reading, which knows of the first that it is large."""
    connection.query_columns(sql, soon())
    table = connection.query_columns(sql, soon())
    assert isinstance(table, Columns)
    return table


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type("tinyint"), [0, 255]),
        (Type("smallint"), [-32768, 32767]),
        (Type("int"), [-(2**31), 2**31 - 1]),
        (Type("bigint"), [0, 2**53 + 1, 2**61]),
        (Type("bigint"), [-(2**63), 2**63 - 1]),
        (Type("unsigned bigint"), [0, 2**40]),
        (Type("unsigned bigint"), [0, 2**64 - 1]),
        (Type("bit"), [True, False]),
        (Type("real"), [1.5, -0.0]),
        (Type("float"), [-2.25e100, 1e-300]),
        (Type("datetime"), [datetime(2024, 2, 29, 23, 59, 59, 997000), datetime(1753, 1, 1)]),
        (Type("varchar", 30), NAMES),
        (Type("varchar", 30), ["plain", "all of it ASCII"]),
        (Type("univarchar", 30), NAMES),
        (Type("varchar", 255), ["y" * 255]),
    ],
)
@pytest.mark.parametrize("nulls", [False, True])
def test_bound_columns_equal_pyodbc_for_every_type(
    server: Running, backend: ScriptedBackend, kind: Type, values: list[Any], nulls: bool
) -> None:
    if nulls and kind.name != "bit":
        values = [*values, None]
    cells = [values[row % len(values)] for row in range(MANY)]
    columns = [Column("a", kind, nulls), Column("row", Type("int"), False)]
    backend.answers["table"] = lambda: [Rows(columns, list(zip(cells, range(MANY), strict=True)))]
    connection = connect(server)
    expected = connection.query("table", soon())
    table = large(connection, "table")
    assert len(table) == MANY
    assert [tuple(row) for row in table.rows()] == [tuple(row) for row in expected]
    assert {type(cell) for cell in table.listed(0)} == {type(row[0]) for row in expected}
    connection.close()


def test_an_unsupported_type_falls_back_to_pyodbc(server: Running, backend: ScriptedBackend) -> None:
    columns = [Column("a", Type("text")), Column("b", Type("numeric", precision=20))]
    backend.answers["table"] = lambda: [Rows(columns, [(f"text {row}", row) for row in range(MANY)])]
    connection = connect(server)
    for _ in range(3):
        rows = connection.query_columns("table", soon())
        assert isinstance(rows, list)
        assert tuple(rows[-1]) == (f"text {MANY - 1}", MANY - 1)
    assert [sql for sql, _ in backend.heard].count("table") == 4, "tried once, and not again"
    connection.close()


def test_without_numpy_large_results_are_the_same_rows(
    server: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    has_arrays.cache_clear()
    connection = connect(server)
    for _ in range(3):
        rows = connection.query_columns(QUERY, soon())
        assert isinstance(rows, list) and len(rows) == MANY
    assert caplog.text.count("ase-exporter[arrays]") == 1, "once in a process"
    has_arrays.cache_clear()
    connection.close()


def test_a_result_that_takes_several_calls_is_complete(server: Running, backend: ScriptedBackend) -> None:
    rows = [(row, f"row {row}", row << 20) for row in range(4 * MANY)]
    connection = connect(server)
    for max_bytes in (bulk_fetch.CHUNK, 10_000):
        with bulk_fetch.Statement(connection._raw.hdbc, bytes.decode) as statement:
            statement.execute(f"numbers {len(rows)}")
            table = statement.fetch(MIN_ARRAY_ROWS, len(rows), lambda _: contextlib.nullcontext(), max_bytes)
            statement.close()
        assert table.rows() == rows
    connection.close()


def test_a_result_that_shrinks_falls_back_to_pyodbc(server: Running, backend: ScriptedBackend) -> None:
    connection = connect(server)
    large(connection, QUERY)
    backend.answers[QUERY] = lambda: [Rows([Column("n", Type("int"), False)], [(1,)])]
    connection.query_columns(QUERY, soon())
    rows = connection.query_columns(QUERY, soon())
    assert isinstance(rows, list)
    assert [tuple(row) for row in rows] == [(1,)]
    backend.answers[QUERY] = list
    assert connection.query_columns(QUERY, soon()) == []
    connection.close()


def answered(server: Running, tokens: bytes) -> list[DatabaseError]:
    """What a fetch by columns raises if the server answers with these tokens, and then with messages."""

    def ask(connection: Connection) -> None:
        connection._note_size("flood", MANY)
        connection.query_columns("flood", time.monotonic() + 5)

    return flooded(server, tokens, ask)


def row_format(kind: int, size: bytes, columns: int = 1) -> bytes:
    """A TDS 5.0 ROWFMT token: unnamed columns of a type, with its size."""
    column = struct.pack("<BBIB", 0, 0, 0, kind) + size + b"\0"
    return b"\xee" + struct.pack("<HH", 2 + columns * len(column), columns) + columns * column


def test_messages_without_end_among_rows_are_cut_off(server: Running) -> None:
    rows = row_format(0x38, b"") + 3 * (b"\xd1" + struct.pack("<i", 7))
    assert [str(error) for error in answered(server, rows)] == ["the server sends messages without end"]


@pytest.mark.parametrize(
    "tokens",
    [
        row_format(0x27, b"\x01") + b"\xd1\xff",
        row_format(0x27, b"\x00") + b"\xd1\xff",
        row_format(0xAF, b"\x40\0\0\0") + b"\xd1\xff\xff\xff\x7f",
        row_format(0xAF, b"\x40\0\0\0") + b"\xd1\xff\xff\xff\xff",
        row_format(0xAF, b"\xff\xff\xff\xff") + b"\xd1\xff\xff\xff\xff",
        row_format(0xAF, b"\xff\xff\xff\x7f") + b"\xd1\xff\xff\xff\x7f",
        row_format(0x27, b"\xff", 6000) + b"\xd1",
        row_format(0x38, b"", 7000) + b"\xd1",
    ],
    ids=range(8),
)
def test_impossible_sizes_are_one_error(server: Running, tokens: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert [error.usable for error in answered(server, tokens)] == [False]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10, "KiB"


def test_rows_too_wide_for_arrays_are_left_to_pyodbc(server: Running, backend: ScriptedBackend) -> None:
    columns = [Column(f"c{number}", Type("varchar", 255)) for number in range(20)]
    backend.answers["wide"] = lambda: [Rows(columns, [("x",) * 20] * MANY)]
    connection = connect(server)
    for _ in range(2):
        rows = connection.query_columns("wide", soon())
        assert isinstance(rows, list)
        assert [tuple(row) for row in rows] == [("x",) * 20] * MANY
    connection.close()


def answer(columns: list[Column], names: list[str | None]) -> list[Any]:
    return [Rows(columns, [(name,) for name in names])]


def test_text_columns_are_equal_only_with_equal_strings(server: Running, backend: ScriptedBackend) -> None:
    columns = [Column("name", Type("varchar", 30))]
    tables = []
    connection = connect(server)
    for last in ("name", "name", "other", "name\0", None):
        names = [*["first"] * (MANY - 1), last]
        backend.answers["table"] = partial(answer, columns, names)
        tables.append(large(connection, "table").columns[0])
    # Text that is not printable is made so, one cell at a time.
    assert [isinstance(column, TextColumn) for column in tables] == [True, True, True, False, True]
    assert [same(tables[0], other) for other in tables] == [True, True, False, False, False]
    connection.close()
