"""Rows are checked against the schema."""

import pytest

from ase_simulator.model import load_scenario
from ase_simulator.model.tables import SHEETS, TABLES
from ase_simulator.schema.rows import UnknownColumnError, checked, known_columns


def test_a_row_with_an_unknown_column_is_an_error() -> None:
    rows = checked("monState", lambda: [{"Connections": 1}, {"Conections": 1}])()

    assert next(rows) == {"Connections": 1}
    with pytest.raises(UnknownColumnError, match="monState: no column Conections"):
        next(rows)


def test_every_table_of_the_model_has_only_columns_of_the_schema() -> None:
    (server,) = load_scenario("quiet-oltp", speed=0)
    server.advance(60)

    for name in TABLES:
        assert known_columns(name), name
        list(server.table(name))


def test_every_declared_expression_can_be_evaluated_in_a_busy_server() -> None:
    """columns.yaml is code in data: a name that no source gives would fail only when a table is read."""
    for scenario, version in (("vldb", "16.0 SP04"), ("storm", "15.7 SP138 CE"), ("failures", "12.5.4")):
        for server in load_scenario(scenario, version=version, speed=0):
            server.advance(600)
            for name, sheet in SHEETS.items():
                for row in server.table(name):
                    assert sheet.constants.keys() <= row.keys(), name
