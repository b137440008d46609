"""The protocol as seen by FreeTDS over ODBC."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyodbc
import pytest
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import ALL_TYPES, PASSWORD, USER
from tests.simulator.tds.type_cases import TYPES, TypeCase

from ase_simulator.model import load_scenario
from ase_simulator.simulation import simulation


@contextmanager
def connected(port: int, password: str = PASSWORD) -> Iterator[Any]:
    text = f"DRIVER=FreeTDS;SERVER=127.0.0.1;PORT={port};TDS_Version=5.0;UID={USER};PWD={password}"
    with closing(pyodbc.connect(f"{text};ClientCharset=UTF-8", timeout=60, autocommit=True)) as connection:
        yield connection


@pytest.mark.parametrize("batch", ["types", "types nullable", "types null"])
def test_every_type_arrives_with_its_value_or_null(server: Running, batch: str) -> None:
    with connected(server.port) as connection:
        row = connection.execute(batch).fetchone()
    for (kind, sent), got in zip(ALL_TYPES, row, strict=True):
        expected = None if batch == "types null" and kind.name != "bit" else sent
        assert got == expected, kind


@pytest.mark.parametrize("sql", ["select ?", "{call double(?)}"])
def test_parameters_are_refused_and_the_connection_goes_on(server: Running, sql: str) -> None:
    with connected(server.port) as connection:
        with pytest.raises(pyodbc.Error, match="20999"):
            connection.execute(sql, 1)
        assert len(connection.execute("numbers 2").fetchall()) == 2


def test_a_literal_of_every_type_and_its_null_come_through_t_sql() -> None:
    (model,) = load_scenario("idle", speed=0)
    nullable = [case for case in TYPES if case.type.name != "bit"]
    with (
        running(lambda: simulation(model, None, "127.0.0.1", 0)) as server,
        connected(server.port, "") as connection,
    ):

        def converted(cases: list[TypeCase], literal: str = "") -> list[object]:
            columns = (f"convert({case.sql_type}, {literal or case.literal})" for case in cases)
            return list(connection.execute(f"select {', '.join(columns)}").fetchone())

        assert converted(TYPES) == [case.padded for case in TYPES]
        assert converted(nullable, "null") == [None] * len(nullable)
