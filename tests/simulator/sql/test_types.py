"""Types and values of expressions follow ASE's rules."""

from datetime import date, datetime
from decimal import Decimal

import pytest
from tests.simulator.sql.fake import Client, FakeServer


@pytest.fixture(scope="module")
def client() -> Client:
    row = {"spid": 5, "status": "running", "cmd": "SELECT", "cpu": 7, "suid": 1, "dbid": 1}
    return Client(FakeServer(sysprocesses=[row]))


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("1", "int"),
        ("3000000000", "numeric(10,0)"),
        ("1.50", "numeric(3,2)"),
        ("1e3", "float"),
        ("$2", "money"),
        ("'abc'", "varchar(3)"),
        ("0x0102", "varbinary(2)"),
        ("1 / 2", "int"),
        ("1 / 2.0", "numeric(17,6)"),
        ("1 * 1e0", "float"),
        ("convert(bigint, 1) + 1", "bigint"),
        ("convert(unsigned int, 1)", "unsigned int"),
        ("'a' + 'bc'", "varchar(3)"),
        ("getdate()", "datetime"),
        ("convert(date, getdate())", "date"),
        ("isnull(1, 2.5)", "numeric(11,1)"),
        ("case when 1 = 1 then 1 else 2.25 end", "numeric(12,2)"),
        ("count(*)", "int"),
        ("sum(convert(numeric(20,0), 1))", "numeric(38,0)"),
        ("@@spid", "smallint"),
        ("substring('abcdef', 1, 2)", "varchar(6)"),
        ("db_name()", "varchar(255)"),
    ],
)
def test_an_expressions_type_is_known_before_its_value(client: Client, expression: str, type_: str) -> None:
    assert client.type(expression) == type_


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % 3", 1),
        ("1 / 3.0", Decimal("0.333333")),
        ("100.0 * 2 / 3", Decimal("66.666666666666")),
        ("'a' + null + 'b'", "ab"),
        ("char_length('')", 1),
        ("case when 'a' = 'a   ' then 1 else 0 end", 1),
        ("case when 'a' = 'A' then 1 else 0 end", 0),
        ("case when null = null then 1 else 0 end", 1),
        ("case when 'abc' not like '[a-b]_c' then 1 else 0 end", 0),
        ("case when 'a_c' like 'a!_%' escape '!' then 1 else 0 end", 1),
        ("convert(int, 3.99)", 3),
        ("convert(int, ' 42 ')", 42),
        ("convert(numeric(5,2), 1.239)", Decimal("1.23")),
        ("convert(varchar(3), 'abcdef')", "abc"),
        ("convert(char(4), 'ab') + '|'", "ab  |"),
        ("convert(varchar, convert(datetime, 'Mar 1 2026 2:05:06PM'), 109)", "Mar  1 2026  2:05:06:000PM"),
        ("convert(varchar(8), convert(datetime, '20260301'), 112)", "20260301"),
        ("convert(varchar(10), convert(datetime, '1 mar 2026'), 103)", "01/03/2026"),
        ("convert(date, '2026-03-01 10:11:12')", date(2026, 3, 1)),
        ("dateadd(mm, 1, '20260131')", datetime(2026, 2, 28)),
        ("datediff(hh, '20260101 10:59', '20260101 11:01')", 1),
        ("datediff(ms, '20260101', '20260101 00:00:01.5')", 1500),
        ("datename(dw, '20260301')", "Sunday"),
        ("str(3.14159, 8, 3)", "   3.142"),
        ("round(2.567, 2)", Decimal("2.570")),
        ("stuff('abcdef', 2, 3, 'X')", "aXef"),
        ("patindex('%[0-9]%', 'ab3')", 3),
        ("replicate('=', 3) + space(1) + right('abc', 2)", "=== bc"),
        ("coalesce(null, nullif(1, 1), 3)", 3),
        ("3 & 6 | 8", 10),
        ("5 ^ 1", 4),
        ("hextoint('1F') + 0x01", 32),
        ("convert(money, 1.23456)", Decimal("1.2346")),
        ("convert(unsigned int, 4000000000)", 4000000000),
    ],
)
def test_an_expression_has_ases_value(client: Client, expression: str, value: object) -> None:
    assert client.value(expression) == value


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("select 2147483647 + 1", 3606),
        ("select convert(tinyint, 256)", 247),
        ("select convert(int, 'abc')", 249),
        ("select 1 + 'a'", 257),
        ("select spid from master..sysprocesses where spid = '5'", 257),
        ("select 1 / 0", 3607),
        ("select 1 union select 'a'", 257),
        ("select sum(x) from (select 2147483647 x union all select 1) t", 3606),
        ("select nosuchfunction(1)", 14216),
        ("select convert(nosuchtype, 1)", 269),
        ("select substring('a')", 174),
        ("select t.a from (select 1 a) t, (select 1 a) u where x.a = 1", 107),
        ("select a from (select 1 a) t, (select 1 a) u", 209),
        ("select 1 union select 1, 2", 205),
        ("select (select x from (select 1 x union select 2) t)", 512),
        ("select a from (select 1 a) t order by 2", 108),
    ],
)
def test_conversion_errors_carry_the_numbers_of_ase(client: Client, sql: str, number: int) -> None:
    assert client.errors(sql) == [number]


def test_char_columns_come_padded_and_compare_without_their_blanks(client: Client) -> None:
    assert client.rows("select status from master..sysprocesses where status = 'running'") == [
        ("running     ",)
    ]


def test_a_sum_of_int_beyond_its_range_needs_a_conversion(client: Client) -> None:
    rows = "(select 2147483647 x union all select 2147483647) t"
    assert client.rows(f"select sum(convert(bigint, x)) from {rows}") == [(4294967294,)]
    assert client.rows(f"select sum(convert(numeric(20,0), x)) from {rows}") == [(Decimal(4294967294),)]


def test_a_subquery_may_reference_the_outer_query(client: Client) -> None:
    inner = "select t.a from (select 1 a, 5 b union select 2, 6) t where t.b = p.spid"
    sql = f"select ({inner}) from master..sysprocesses p"
    assert client.rows(sql) == [(1,)]
