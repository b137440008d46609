"""Rows are checked against the schema."""

import pytest

from ase_simulator.model import load_scenario
from ase_simulator.model.tables import TABLES
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
