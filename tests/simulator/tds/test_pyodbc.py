"""The protocol as seen by FreeTDS over ODBC."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any

import pyodbc
import pytest
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ALL_TYPES, PASSWORD, USER, ScriptedBackend

Connect = Callable[..., Any]


@contextmanager
def connected(port: int, extra: str = "", password: str = PASSWORD) -> Iterator[Any]:
    text = f"DRIVER=FreeTDS;SERVER=127.0.0.1;PORT={port};TDS_Version=5.0;UID={USER};PWD={password}"
    with closing(
        pyodbc.connect(f"{text};ClientCharset=UTF-8;{extra}", timeout=60, autocommit=True)
    ) as connection:
        yield connection


@pytest.mark.parametrize("batch", ["types", "types nullable", "types null"])
def test_every_type_arrives_with_its_value_or_null(server: Running, batch: str) -> None:
    with connected(server.port) as connection:
        row = connection.execute(batch).fetchone()
    for (kind, sent), got in zip(ALL_TYPES, row, strict=True):
        expected = None if batch == "types null" and kind.name != "bit" else sent
        assert got == expected, kind


@pytest.mark.parametrize("encryption", ["require", "request", "off"])
def test_password_may_travel_encrypted(server: Running, backend: ScriptedBackend, encryption: str) -> None:
    with connected(server.port, f"Encryption={encryption}") as connection:
        assert connection.execute("numbers 1").fetchval() == 0
    assert backend.logins[-1].password == PASSWORD


@pytest.mark.parametrize("size", [512, 1024, 4096, 16384])
def test_a_big_result_crosses_packets_of_any_size(server: Running, size: int) -> None:
    with connected(server.port, f"PacketSize={size}") as connection:
        rows = connection.execute("numbers 5000").fetchall()
    assert [tuple(row) for row in rows] == [(n, f"row {n}", n << 20) for n in range(5000)]


def test_prepared_parameters_come_back_typed(server: Running) -> None:
    values = [7, 2**40, "Spinlöck", 1.5, Decimal("12.34"), None]
    with connected(server.port) as connection:
        row = connection.execute("select ?, ?, ?, ?, ?, ?", values).fetchone()
        assert list(row) == values
        assert list(connection.execute("select ?, ?, ?, ?, ?, ?", values).fetchone()) == values


def test_a_timeout_cancels_and_the_connection_stays_usable(server: Running, backend: ScriptedBackend) -> None:
    with connected(server.port) as connection:
        connection.timeout = 1
        with pytest.raises(pyodbc.OperationalError, match="HYT00"):
            connection.execute("hang")
        assert connection.execute("numbers 2").fetchval() == 0
    assert backend.released.is_set()


def test_closing_a_partly_read_result_leaves_the_connection_usable(server: Running) -> None:
    with connected(server.port) as connection:
        cursor = connection.execute("numbers 200000")
        assert cursor.fetchone()[0] == 0
        cursor.close()
        assert connection.execute("numbers 1").fetchval() == 0
