"""The protocol as seen by FreeTDS over ODBC."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any

import pyodbc
import pytest
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ALL_TYPES, PASSWORD, USER


@contextmanager
def connected(port: int) -> Iterator[Any]:
    text = f"DRIVER=FreeTDS;SERVER=127.0.0.1;PORT={port};TDS_Version=5.0;UID={USER};PWD={PASSWORD}"
    with closing(pyodbc.connect(f"{text};ClientCharset=UTF-8", timeout=60, autocommit=True)) as connection:
        yield connection


@pytest.mark.parametrize("batch", ["types", "types nullable", "types null"])
def test_every_type_arrives_with_its_value_or_null(server: Running, batch: str) -> None:
    with connected(server.port) as connection:
        row = connection.execute(batch).fetchone()
    for (kind, sent), got in zip(ALL_TYPES, row, strict=True):
        expected = None if batch == "types null" and kind.name != "bit" else sent
        assert got == expected, kind


def test_prepared_parameters_come_back_typed(server: Running) -> None:
    values = [7, 2**40, "Spinlöck", 1.5, Decimal("12.34"), None]
    with connected(server.port) as connection:
        row = connection.execute("select ?, ?, ?, ?, ?, ?", values).fetchone()
        assert list(row) == values
        assert list(connection.execute("select ?, ?, ?, ?, ?, ?", values).fetchone()) == values
