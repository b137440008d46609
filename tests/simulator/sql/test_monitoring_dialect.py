"""T-SQL that other monitoring tools send: hints, column lists, functions, globals, exact numbers."""

from decimal import Decimal

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.contracts import Row


@pytest.fixture(scope="module")
def client() -> Client:
    databases = [{"name": "master", "dbid": 1}, {"name": "shop", "dbid": 4}]
    usages: list[Row] = [{"dbid": 4, "segmap": 7, "lstart": 0, "size": 5120, "unreservedpgs": 100}]
    return Client(
        FakeServer(sysprocesses=[{"spid": 1}, {"spid": 2}], sysdatabases=databases, sysusages=usages)
    )


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select 1 from master..sysprocesses p (index 0) where p.spid = 1", [(1,)]),
        ("select 1 from master..sysprocesses (index 1 prefetch 2 mru) where spid = 1", [(1,)]),
        ("select master..sysusages.dbid from master..sysusages", [(4,)]),
        ("select master.dbo.sysusages.dbid from master.dbo.sysusages", [(4,)]),
        ("select a.name from (select name from master..sysdatabases where dbid = 4) a(name)", [("shop",)]),
        ("select x.n + x.m from (select 1, 2) as x (n, m)", [(3,)]),
        (
            "select od.name from master..sysdatabases od, master..sysusages h "
            "where od.dbid in (select db.dbid from master..sysdatabases db where db.dbid in (1, 4)) "
            "and od.dbid *= h.dbid order by od.dbid",
            [("master",), ("shop",)],
        ),
    ],
)
def test_the_dialect_of_monitoring_queries(client: Client, sql: str, rows: list[tuple[object, ...]]) -> None:
    assert client.rows(sql) == rows


def test_create_or_replace_procedure_replaces(client: Client) -> None:
    client.results("create or replace procedure p (@a int) as select @a")
    client.results("create or replace proc p (@a int) as select @a + 1")
    assert client.rows("exec p 1") == [(2,)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("convert(numeric(38,0), '12345678901234567890123')", Decimal("12345678901234567890123")),
        ("12345678901234567890123", Decimal("12345678901234567890123")),
        ("convert(numeric(38,0), 12345678901234567890123) + 1", Decimal("12345678901234567890124")),
        (
            "convert(numeric(38,10), '1234567890123456789.0123456789')",
            Decimal("1234567890123456789.0123456789"),
        ),
        ("convert(money, 922337203685477.5807)", Decimal("922337203685477.5807")),
        (
            "convert(varchar(40), convert(numeric(38,0), '12345678901234567890123'))",
            "12345678901234567890123",
        ),
        ("case when convert(numeric(38,0), '12345678901234567890123') > 5 then 1 else 0 end", 1),
        ("convert(float, convert(numeric(38,0), '12345678901234567890123'))", 12345678901234567890123.0),
    ],
)
def test_large_exact_numbers_keep_all_digits(client: Client, expression: str, value: object) -> None:
    assert client.value(expression) == value


def test_a_sum_of_large_numbers_is_exact(client: Client) -> None:
    rows = "(select convert(numeric(38,0), '12345678901234567890123') x union all select 1) t"
    assert client.rows(f"select sum(x) from {rows}") == [(Decimal("12345678901234567890124"),)]


@pytest.mark.parametrize("value", ["922337203685477.5808", "-922337203685477.5809"])
def test_money_beyond_its_range_is_an_overflow(client: Client, value: str) -> None:
    assert client.errors(f"select convert(money, {value})") == [247]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("bintostr(0x0102)", "0102"),
        ("strtobin('0102')", b"\x01\x02"),
        ("is_rep_agent_enabled()", 0),
        ("is_rep_agent_enabled(4)", 0),
        ("show_plan(1, 0, 0, 0)", -1),
        ("row_count(4, 1)", 0),
        ("rowcnt(1)", 0),
        ("data_pgs(1, 1)", 0),
        ("reserved_pgs(1, 1)", 0),
        ("used_pgs(1, 1, 1)", 0),
        ("index_col('sysobjects', 1, 1)", None),
        ("partition_name(1, 1)", None),
        ("config_admin(1, 5, 0, 0, null, null)", 1),
        ("pssinfo(1, 'ipaddr')", "0.0.0.0"),
    ],
)
def test_functions_that_monitors_call(client: Client, expression: str, value: object) -> None:
    assert client.value(expression) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("@@recovery_state", "NOT_IN_RECOVERY"),
        ("@@hadr_mode", -1),
        ("@@optgoal", "allrows_mix"),
        ("@@parallel_degree", 1),
        ("@@scan_parallel_degree", 1),
        ("@@rowcount", 1),
    ],
)
def test_globals_that_monitors_read(client: Client, name: str, value: object) -> None:
    client.rows("select 1")
    assert client.value(name) == value
