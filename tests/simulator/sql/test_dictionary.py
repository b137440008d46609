"""The dictionary of every version adds up: joins that DBAs make, sums, and every value within its type."""

from pathlib import Path

import pytest
from tests.simulator.sql.fake import Client
from tests.versions import VERSIONS

from ase_exporter.assets import load_yaml
from ase_simulator.model import load_scenario
from ase_simulator.results import Rows
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.rows import RowFormat

QUERIES = load_yaml(Path(__file__).with_suffix(".yaml").read_text())


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Client:
    return Client(load_scenario("quiet-oltp", version=request.param, speed=1.0)[0])


def test_nothing_is_without_a_match(server: Client) -> None:
    unmatched = QUERIES["without a match"]
    counts = {what: server.rows(f"select count(*) from {rows}") for what, rows in unmatched.items()}
    assert counts == {what: [(0,)] for what in unmatched}


def test_nothing_is_there_twice(server: Client) -> None:
    twice = "select count(*) n from {} having count(*) > 1"
    assert {what for what, rows in QUERIES["twice"].items() if server.rows(twice.format(rows))} == set()


def place(server: Client) -> str:
    """How a fragment in sysusages names its device."""
    old = "12.5" in server.backend.version
    return "u.vstart between d.low and d.high" if old else "u.vdevno = d.vdevno"


def test_every_fragment_lies_on_one_device(server: Client) -> None:
    both = "select count(*), (select count(*) from sysusages) from sysusages u, sysdevices d where"
    ((fragments, placed),) = server.rows(f"{both} {place(server)} and d.cntrltype = 0")
    assert fragments == placed > 0


def test_fragments_of_a_database_follow_each_other(server: Client) -> None:
    fragments = server.rows("select dbid, lstart, size, unreservedpgs from sysusages order by dbid, lstart")
    ends: dict[int, int] = {}
    for database, start, size, free in fragments:
        assert start == ends.get(database, 0)
        assert 0 <= free <= size
        ends[database] = start + size


def test_the_log_is_no_larger_than_its_fragments_and_its_free_part_no_larger_than_the_log(
    server: Client,
) -> None:
    for database, size in server.rows(
        "select dbid, sum(case when segmap & 4 = 4 then size else 0 end) from sysusages"
        " where db_name(dbid) <> 'tempdb_ase2' group by dbid"
    ):
        pages, free, reserved = server.rows(
            f"select lct_admin('num_logpages', {database}), lct_admin('logsegment_freepages', {database}), "
            f"lct_admin('reserved_for_rollbacks', {database})"
        )[0]
        assert 0 <= reserved <= free
        assert 0 < pages <= size - free


def test_databases_whose_log_is_mixed_with_data_say_so(server: Client) -> None:
    mixed = "select distinct db_name(dbid) from sysusages where segmap = 7 order by 1"
    flagged = server.rows("select name from sysdatabases where status2 & 32768 = 32768 order by name")
    assert flagged == server.rows(mixed)
    assert {name for (name,) in flagged} >= {"master", "model", "tempdb"}
    assert server.rows("select name from sysdatabases where status3 & 256 = 256") == []


def test_a_device_holds_no_more_than_it_has(server: Client) -> None:
    over = (
        "select d.name from sysdevices d, sysusages u where d.status & 2 = 2 and "
        f"{place(server)} group by d.name, d.low, d.high "
        "having sum(u.size) * (@@maxpagesize / @@pagesize) > d.high - d.low + 1"
    )
    assert server.rows(over) == []


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
        (rows,) = (
            each for each in server.results(f"select * from {home}..{table.name}") if isinstance(each, Rows)
        )
        assert [column.name for column in rows.columns] == [column.name for column in table.columns]
        encoded = RowFormat(rows.columns, dialect)
        for row in rows.rows:
            assert encoded.write(row), table.name


def test_every_database_has_a_date(server: Client) -> None:
    assert server.rows("select name from sysdatabases where crdate is null") == []
