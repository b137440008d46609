"""Bulk copy and WRITETEXT, by FreeTDS's freebcp and byte by byte."""

import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.sql.fake import FakeServer
from tests.simulator.tds.raw import ATTENTION, BULK, RawClient, Token
from tests.simulator.tds.running import Running, running

from ase_simulator.results import BulkTarget, Column, Type
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.tds.bulk import BulkReader
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import LITTLE_ENDIAN, Layout
from ase_simulator.tds.packets import ProtocolError

freebcp = pytest.mark.skipif(not shutil.which("freebcp"), reason="freebcp (freetds-bin) is not installed")

TYPES = """
    n int not null, on_off bit, other bit, m money not null, d numeric(20, 4) null, c char(6) not null,
    v varchar(200) null, w varchar(200) null, b varbinary(8) null, at datetime null, f float null, t text null
"""


@pytest.fixture
def server() -> Iterator[Running]:
    backend = SqlBackend(FakeServer())
    with running(lambda: Listener(backend)) as run:
        yield run


@pytest.fixture(params=["<", ">"], ids=["little-endian", "big-endian"])
def client(request: pytest.FixtureRequest, server: Running) -> Iterator[RawClient]:
    with RawClient(server.port, request.param) as client:
        client.login("sa", "")
        yield client


def copied(server: Running, *arguments: str | Path) -> str:
    ended = subprocess.run(
        ["freebcp", *arguments, "-S", f"127.0.0.1:{server.port}", "-U", "sa", "-P", "", "-c", "-t", "|"],
        env={"TDSVER": "5.0", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def values(tokens: list[Token]) -> list[list[bytes | None]]:
    return [token["values"] for token in tokens if token.name == "ROW"]


def errors(tokens: list[Token]) -> list[int]:
    return [token["number"] for token in tokens if token.name == "EED" and token["severity"] > 10]


def run(client: RawClient, sql: str) -> list[Token]:
    tokens = client.ask(client.codec.language(sql))
    assert errors(tokens) == []
    return tokens


@freebcp
def test_freebcp_copies_rows_in_as_it_copies_them_out(server: Running, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with RawClient(server.port) as client:
        client.login("sa", "")
        for name in ("source", "target"):
            run(client, f"create table tempdb..{name} ({TYPES})")
        v, w, text = (f"'{letter * size}'" for letter, size in (("v", 200), ("w", 200), ("T", 5000)))
        for row in (
            f"1, 1, 0, 1.25, 12345678901234.5678, 'abc', 'ü', {v}, 0xcafe, 'Mar 1 2026 8:00', 0.5, 'a text'",
            f"2, 0, 1, -3, null, 'x', {v}, {w}, null, null, null, null",
            f"3, 1, 1, 0, null, '', null, {v}, null, null, null, {text}",
        ):
            run(client, f"insert tempdb..source values ({row})")
        assert "3 rows copied" in copied(server, "tempdb..source", "out", first)
        assert "3 rows copied" in copied(server, "tempdb..target", "in", first, "-b", "2")
        copied(server, "tempdb..target", "out", second)
        assert second.read_bytes() == first.read_bytes()
        assert values(run(client, "select t from tempdb..target where n = 3")) == [[b"T" * 5000]]


def test_the_answer_to_insert_bulk_describes_each_column_and_its_default(client: RawClient) -> None:
    run(
        client,
        "create table #t (a int default 7 not null, b varchar(9) default 'x' null, c char(3) not null)",
    )
    described, defaults = [], []
    for row in values(run(client, "insert bulk #t")):
        if len(row) == 7:
            described.append([struct.unpack(client.codec.order + "i", value or b"")[0] for value in row])
        else:
            defaults.append(row[1])
    assert [(row[0], row[1], row[5] < 0, row[6]) for row in described] == [
        (3, 1, False, 1),
        (3, 2, True, 1),
        (3, 3, False, 0),
    ]
    assert defaults == [b"x"]


def test_rows_are_stored_and_counted(client: RawClient) -> None:
    run(client, "create table #t (a tinyint not null, b varchar(9) null)")
    run(client, "insert bulk #t")
    records = [bytes((1, 0, 5, 10, 0, 97, 98, 99)) + bytes((2, 8, 5)), bytes((0, 0, 6))]
    body = b"".join(client.codec.u2(len(record)) + record for record in records)
    done = client.ask(body, BULK)[-1]
    assert (done["status"], done["count"]) == (0x10, 2)
    assert values(run(client, "select a, b from #t order by a")) == [[b"\5", b"abc"], [b"\6", None]]


def test_a_row_that_a_table_rejects_ends_the_copy_with_its_error(client: RawClient) -> None:
    run(client, "create table #t (a varchar(9) not null)")
    run(client, "insert bulk #t")
    assert errors(client.ask(client.codec.u2(2) + b"\0\0", BULK)) == [515]
    assert values(run(client, "select a from #t")) == []


def test_the_server_numbers_rows_unless_identity_insert_is_on(client: RawClient) -> None:
    run(client, "create table #t (a tinyint identity, b tinyint not null)")
    record = client.codec.u2(4) + bytes((0, 0, 9, 1))
    for setting in ("off", "on"):
        run(client, f"set identity_insert #t {setting}")
        run(client, "insert bulk #t")
        client.ask(record, BULK)
    assert values(run(client, "select a from #t")) == [[b"\1"], [b"\x09"]]


def test_rows_that_nobody_asked_for_end_the_connection(client: RawClient) -> None:
    client.send(b"\2\0\0\0", BULK)
    assert client.closed()


def test_an_attention_ends_a_copy(client: RawClient) -> None:
    run(client, "create table #t (a tinyint not null)")
    run(client, "insert bulk #t")
    client.send(b"", ATTENTION)
    client.reply()
    assert values(run(client, "select a from #t")) == []


LONG = [
    Column("a", Type("int"), False),
    Column("on", Type("bit"), False),
    Column("b", Type("varchar", 300)),
    Column("off", Type("bit"), False),
    Column("c", Type("varchar", 300)),
    Column("t", Type("text")),
]
START = bytes((3, 0)) + struct.pack("<i", -2) + b"\1"
VARYING = b"b" * 250 + b"c" * 300
WITH_TEXT = START + struct.pack("<H", 575) + VARYING + bytes(16) + bytes((4, 3, 2, 63, 47, 3, 9))
WITHOUT_TEXT = b"\2" + START[1:] + struct.pack("<H", 559) + VARYING + bytes((3, 2, 47, 3, 9))
TEXT = struct.pack("<HBBHI", 0, 0x23, 0xFF, 559, 4) + b"text"


def reader() -> BulkReader:
    return BulkReader(BulkTarget(LONG, {}, lambda types, rows: None), Dialect(Layout(LITTLE_ENDIAN)))


def test_rows_longer_than_256_bytes_have_a_table_of_high_bytes() -> None:
    body = b"".join(struct.pack("<H", len(record)) + record for record in (WITHOUT_TEXT, WITH_TEXT)) + TEXT
    types, rows = reader().rows(body)
    assert [type_.name for type_ in types] == ["int", "bit", "varchar", "bit", "varchar", "text"]
    b, c = "b" * 250, "c" * 300
    assert rows == [[-2, True, b, False, c, None], [-2, True, b, False, c, "text"]]


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_wrong_are_a_protocol_error(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        body = bytearray(struct.pack("<H", len(WITH_TEXT)) + WITH_TEXT + TEXT)
        for _ in range(chance.randint(1, 8)):
            body[chance.choice((chance.randrange(len(body)), -chance.randint(1, 32)))] = chance.randrange(256)
        try:
            _, rows = reader().rows(bytes(body[: chance.randint(1, len(body))]))
        except ProtocolError:
            continue
        assert all(len(row) == len(LONG) for row in rows)


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_a_text_is_written_where_its_pointer_points(client: RawClient, table: str) -> None:
    run(client, f"create table {table} (a int, t text null)")
    for row in ("1, 'one'", "2, 'two'", "3, null"):
        run(client, f"insert {table} values ({row})")
    (row_format,) = (each for each in run(client, f"select * from {table}") if each.name == "ROWFMT2")
    assert [column.table for column in row_format["columns"]] == [table.split(".")[-1]] * 2
    _, second = client.pointers()
    sql = f"writetext bulk {table}.t 0x{second.hex()} timestamp = 0x0000000000000000 with log"
    run(client, sql)
    text = b"new " * 5000
    assert client.ask(client.codec.u4(len(text)) + text, BULK)[-1]["status"] == 0
    assert [row[1] for row in values(run(client, f"select a, t from {table} order by a"))] == [
        b"one",
        text,
        None,
    ]


def test_a_pointer_to_no_row_is_an_error(client: RawClient) -> None:
    run(client, "create table #t (t text null)")
    run(client, f"writetext bulk #t.t 0x{'07' * 16}")
    assert errors(client.ask(client.codec.u4(1) + b"x", BULK)) == [7123]
