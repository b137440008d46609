"""The protocol, token by token."""

from collections.abc import Iterator

import pytest
from tests.simulator.tds.raw import (
    ATTENTION,
    ATTENTION_ACK,
    COUNT,
    ERROR,
    LOGIN,
    MORE,
    RawClient,
    Token,
    language,
    login_record,
)
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend, numbers_that_fail

from ase_simulator.results import Affected, Column, Ended, Message, Rows, Type

LOGOUT = b"\x71\0"


@pytest.fixture
def client(server: Running) -> Iterator[RawClient]:
    with RawClient(server.port) as client:
        client.login(USER, PASSWORD)
        yield client


def named(tokens: list[Token], name: str) -> list[Token]:
    return [token for token in tokens if token.name == name]


def statuses(tokens: list[Token]) -> list[tuple[str, int]]:
    return [(token.name, token["status"]) for token in tokens if token.name.startswith("DONE")]


def numbers(tokens: list[Token]) -> list[int]:
    """First column of all rows, where it is an int."""
    return [int.from_bytes(row["values"][0], "little", signed=True) for row in named(tokens, "ROW")]


def test_the_key_for_an_encrypted_password_comes_with_a_nonce(server: Running) -> None:
    with RawClient(server.port) as client:
        answer = client.login(USER, "", security=0xA1)
    assert [t["id"] for t in named(answer, "MSG")] == [30]
    assert [len(t["types"]) for t in named(answer, "PARAMFMT")] == [3]


def test_login_announces_environment_version_and_capabilities(server: Running) -> None:
    with RawClient(server.port) as client:
        answer = client.login(USER, PASSWORD, packet_size=1024)
    assert [(t["kind"], t["new"]) for t in named(answer, "ENVCHANGE")] == [
        (1, "master"),
        (2, "us_english"),
        (3, "utf8"),
        (4, "2048"),
    ]
    assert [t["number"] for t in named(answer, "EED")] == [5701, 5703, 5704]
    (login,) = named(answer, "LOGINACK")
    assert (login["status"], login["version"]) == (5, b"\5\0\0\0")
    assert statuses(answer) == [("DONE", 0)]


def test_replies_fill_packets_of_the_size_that_the_server_chose(server: Running) -> None:
    with RawClient(server.port) as client:
        client.login(USER, PASSWORD, packet_size=1024)
        client.packet_sizes.clear()
        client.ask("numbers 500")
    assert len(client.packet_sizes) > 2
    assert set(client.packet_sizes[:-1]) == {2048}


def test_a_failed_login_gets_an_error_and_the_connection_closes(server: Running) -> None:
    with RawClient(server.port) as client:
        answer = client.login(USER, "wrong")
        assert [t["number"] for t in named(answer, "EED")] == [4002]
        assert [t["status"] for t in named(answer, "LOGINACK")] == [6]
        assert statuses(answer) == [("DONE", ERROR)]
        assert client.closed()


def test_every_statement_ends_with_its_own_done(client: RawClient, backend: ScriptedBackend) -> None:
    one = Rows([Column("n", Type("int"))], [(1,)])
    backend.answers["mixed"] = lambda: [one, Affected(3), Message(0, 10, 1, "told"), one]
    answer = client.ask("mixed")
    assert [token.name for token in answer] == [
        *("ROWFMT2", "ROW", "DONE"),
        *("DONE", "EED"),
        *("ROWFMT2", "ROW", "DONE"),
    ]
    assert [(t["status"], t["count"]) for t in named(answer, "DONE")] == [
        (COUNT | MORE, 1),
        (COUNT | MORE, 3),
        (COUNT, 1),
    ]


def test_an_error_carries_every_field(client: RawClient, backend: ScriptedBackend) -> None:
    backend.answers["fail"] = lambda: [Message(1205, 13, 45, "deadlock", procedure="sp_x", line=321)]
    (error, done) = client.ask("fail")
    assert error.fields == {
        "number": 1205,
        "severity": 13,
        "state": 45,
        "sqlstate": b"40001",
        "text": "deadlock",
        "server": "SCRIPTED",
        "procedure": "sp_x",
        "line": 321,
    }
    assert done["status"] == ERROR


def test_an_error_while_rows_are_read_follows_the_rows(client: RawClient, backend: ScriptedBackend) -> None:
    backend.answers["fail"] = lambda: [Rows([Column("n", Type("int"))], numbers_that_fail(300))]
    answer = client.ask("fail")
    assert [token.name for token in answer[-2:]] == ["EED", "DONE"]
    assert answer[-2]["number"] == 3607
    assert numbers(answer) == list(range(300))
    assert statuses(answer) == [("DONE", ERROR)]


def test_a_batch_without_results_ends_with_a_done(client: RawClient) -> None:
    assert statuses(client.ask("nothing")) == [("DONE", 0)]


# The first byte of what is not simulated; the rest of the request belongs to it.
@pytest.mark.parametrize(
    "token",
    [0xE6, 0xE8, 0x62, 0xE7, 0xA6, 0x10, 0x23, 0x80, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88],
    ids=hex,
)
def test_what_is_not_simulated_is_refused_and_the_next_request_answered(
    client: RawClient, token: int
) -> None:
    answer = client.ask(bytes((token,)) + b"\5rest of it")
    assert [t["number"] for t in named(answer, "EED")] == [20999]
    assert statuses(answer) == [("DONE", ERROR)]
    assert numbers(client.ask("numbers 2")) == [0, 1]


@pytest.mark.parametrize("formats", [b"\xec", b"\x20"])
def test_a_batch_with_parameters_is_refused(client: RawClient, formats: bytes) -> None:
    answer = client.ask(language("numbers 1") + formats)
    assert [t["number"] for t in named(answer, "EED")] == [20999]
    assert named(answer, "ROW") == []


def test_a_statement_without_rows_ends_with_a_done_that_counts_nothing(
    client: RawClient, backend: ScriptedBackend
) -> None:
    backend.answers["create"] = lambda: [Ended(), Affected(2)]
    assert statuses(client.ask("create")) == [("DONE", MORE), ("DONE", COUNT)]


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("Adaptive Server Enterprise/12.5.4/EBF 13385/P/x86_64/Enterprise Linux", b"\x0c\5\4\0"),
        ("Adaptive Server Enterprise/15.7/EBF 25129 SMP SP138 /P/x86_64", b"\x0f\7\0\0"),
        ("Adaptive Server Enterprise/16.0 SP04/EBF 30399 SMP/P/x86_64", b"\x10\0\4\0"),
    ],
)
def test_login_tells_the_version_of_the_server(
    server: Running, backend: ScriptedBackend, version: str, number: bytes
) -> None:
    backend.version = version
    with RawClient(server.port) as client:
        (login,) = named(client.login(USER, PASSWORD), "LOGINACK")
    assert login["server"] == number


def test_an_attention_ends_a_hanging_batch(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    client.send(b"", ATTENTION)
    assert statuses(client.reply()) == [("DONE", ATTENTION_ACK)]
    assert server.ask(backend.released.is_set)
    assert numbers(client.ask("numbers 2")) == [0, 1]


def test_an_attention_within_a_big_result_ends_it_at_a_token(client: RawClient) -> None:
    client.send("numbers 1000000")
    client.send(b"", ATTENTION)
    answer = client.reply()
    assert statuses(answer) == [("DONE", ATTENTION_ACK)]
    assert len(named(answer, "ROW")) < 1_000_000


@pytest.mark.parametrize("before", [b"", b"\x0f\0\0\x0c\0\0\0\0half"], ids=["idle", "half a request"])
def test_an_attention_is_acknowledged_and_drops_a_half_sent_request(client: RawClient, before: bytes) -> None:
    client.socket.sendall(before)
    client.send(b"", ATTENTION)
    assert statuses(client.reply()) == [("DONE", ATTENTION_ACK)]


def test_a_client_that_goes_away_ends_its_batch(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    client.socket.close()
    server.ask(backend.released.wait)


def test_logout_is_answered_and_the_connection_closed(client: RawClient) -> None:
    assert statuses(client.ask(LOGOUT)) == [("DONE", 0)]
    assert client.closed()


@pytest.mark.parametrize("garbage", [b"\x99", b"\x21\xff\xff\xff\xff", b"\xd7\0"])
def test_garbage_ends_the_connection_and_no_other(server: Running, client: RawClient, garbage: bytes) -> None:
    with RawClient(server.port) as other:
        other.login(USER, PASSWORD)
        client.send(garbage)
        assert client.closed()
        assert numbers(other.ask("numbers 1")) == [0]


RECORD = login_record(USER, PASSWORD)


@pytest.mark.parametrize(
    "record",
    [RECORD[:100], RECORD[:124] + b"\2" + RECORD[125:], RECORD[:30] + b"\xff" + RECORD[31:]],
    ids=["cut", "of a big-endian machine", "a name that is too long"],
)
def test_a_login_that_cannot_be_read_ends_the_connection_and_no_other(
    server: Running, client: RawClient, record: bytes
) -> None:
    with RawClient(server.port) as other:
        other.send(record, LOGIN)
        assert other.closed()
    assert numbers(client.ask("numbers 1")) == [0]


@pytest.mark.parametrize(
    ("charset", "announced", "codec"),
    [
        ("iso_1", "iso_1", "latin-1"),
        ("cp850", "cp850", "cp850"),
        ("roman8", "roman8", "hp_roman8"),
        ("nonsense", "utf8", "utf-8"),
        ("", "utf8", "utf-8"),
    ],
)
def test_text_is_sent_in_the_announced_charset(
    server: Running, backend: ScriptedBackend, charset: str, announced: str, codec: str
) -> None:
    backend.password = "ascii"
    backend.answers["text"] = lambda: [Rows([Column("t", Type("varchar", 30))], [("Spinlöcke",)])]
    with RawClient(server.port) as client:
        answer = client.login(USER, "ascii", charset=charset)
        assert (3, announced) in [(t["kind"], t["new"]) for t in named(answer, "ENVCHANGE")]
        (row,) = named(client.ask("text"), "ROW")
    assert "Spinlöcke".encode(codec) in row["values"]
