"""The dictionary of every version adds up: joins that DBAs make, sums, and every value within its type."""

from pathlib import Path

import pytest
from tests.simulator.sql.fake import Client
from tests.versions import VERSIONS

from ase_exporter.assets import load_yaml
from ase_simulator.model import load_scenario
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.rows import RowFormat

QUERIES = load_yaml(Path(__file__).with_suffix(".yaml").read_text())


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Client:
    return Client(load_scenario("quiet-oltp", version=request.param, speed=1.0)[0])


def place(server: Client) -> str:
    """How a fragment in sysusages names its device."""
    old = "12.5" in server.backend.version
    return "u.vstart between d.low and d.high" if old else "u.vdevno = d.vdevno"


@pytest.mark.parametrize("what", QUERIES["without a match"])
def test_nothing_is_without_a_match(server: Client, what: str) -> None:
    rows = QUERIES["without a match"][what].format(place=place(server))
    assert server.rows(f"select count(*) from {rows}") == [(0,)]


@pytest.mark.parametrize("what", QUERIES["twice"])
def test_nothing_is_there_twice(server: Client, what: str) -> None:
    rows = QUERIES["twice"][what].format(place=place(server))
    assert server.rows(f"select count(*) n from {rows} having count(*) > 1") == []


def test_no_resource_is_used_beyond_its_limit(server: Client) -> None:
    for name, free, active, percent, most, *_ in server.rows("sp_monitorconfig 'all'"):
        assert 0 <= float(percent) <= 100, name
        assert min(free, active) >= 0 and most >= active, name


def test_rows_are_those_of_the_instance(server: Client) -> None:
    if "InstanceID" in server.columns("select * from monEngine"):
        assert server.rows("select distinct InstanceID - @@instanceid from monEngine") == [(0,)]


def test_every_table_has_its_columns_and_every_value_fits_its_type(server: Client) -> None:
    dialect = Dialect()
    for table in server.backend.shared.catalog.tables.values():
        home = "master" if table.scope == "each" else table.scope
        (rows,) = server.sets(f"select * from {home}..{table.name}")
        assert [column.name for column in rows.columns] == [column.name for column in table.columns]
        encoded = RowFormat(rows.columns, dialect)
        for row in rows.rows:
            assert encoded.write(row), table.name
