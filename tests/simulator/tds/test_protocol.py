"""The protocol, byte by byte. The faults of the listener are tested by those of the exporter."""

import re
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
    done,
    language,
    login_record,
    numbers,
)
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend, numbers_that_fail

from ase_simulator.results import Affected, Column, Ended, Message, Rows, Type
from ase_simulator.tds.fields import u4

LOGOUT = b"\x71\0"
ONE = Rows([Column("n", Type("int"))], [(1,)])
# Of its one column: label, catalogue, schema, table and name, status (may be NULL), user type, type and size, locale.
FORMAT = b"\x61\x14\0\0\0\1\0" + b"\1n\0\0\0\1n" + b" \0\0\0" + b"\7\0\0\0" + b"\x26\4\0"


@pytest.fixture
def client(server: Running) -> Iterator[RawClient]:
    with RawClient(server.port) as client:
        client.login(USER, PASSWORD)
        yield client


def row(number: int) -> bytes:
    """A row of one integer that may be NULL."""
    return b"\xd1\4" + u4(number)


def test_the_key_for_an_encrypted_password_comes_with_a_nonce(server: Running) -> None:
    with RawClient(server.port) as client:
        answer = client.login(USER, "", security=0xA1)
    # A message of that number, and the formats of three parameters.
    assert re.search(rb"\x65\x03\x01\x1e\x00\xec..\x03\x00", answer, re.DOTALL)


def test_login_announces_environment_version_and_capabilities(server: Running) -> None:
    with RawClient(server.port) as client:
        answer = client.login(USER, PASSWORD, packet_size=1024)
    changes = re.findall(rb"\xe3.\x00([\x01-\x04])[\x04-\x0a]([a-z_0-9]+)", answer, re.DOTALL)
    assert changes == [(b"\1", b"master"), (b"\2", b"us_english"), (b"\3", b"utf8"), (b"\4", b"2048")]
    assert numbers(answer) == [5701, 5703, 5704]
    # The login is taken, for this version of the protocol.
    assert b"\xad\x0d\0\5\5\0\0\0\3ASE" in answer
    assert answer.endswith(done(0))


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
        assert numbers(answer) == [4002]
        assert b"\xad\x0d\0\6" in answer
        assert answer.endswith(done(ERROR))
        assert client.closed()


def test_every_statement_ends_with_its_own_done(client: RawClient, backend: ScriptedBackend) -> None:
    backend.answers["mixed"] = lambda: [ONE, Affected(3), Message(0, 10, 1, "told"), ONE]
    first, second = row(1) + done(COUNT | MORE, 1) + done(COUNT | MORE, 3), row(1) + done(COUNT, 1)
    message = rb"\xe5.+told\x08SCRIPTED\x00.."
    wanted = re.escape(FORMAT + first) + message + re.escape(FORMAT + second)
    assert re.fullmatch(wanted, client.ask("mixed"), re.DOTALL)


def test_an_error_carries_every_field(client: RawClient, backend: ScriptedBackend) -> None:
    backend.answers["fail"] = lambda: [Message(1205, 13, 45, "deadlock", procedure="sp_x", line=321)]
    fields = u4(1205) + bytes((45, 13)) + b"\x0540001" + bytes(3)
    texts = b"\x08\0deadlock" + b"\x08SCRIPTED" + b"\x04sp_x" + b"\x41\x01"
    assert client.ask("fail") == b"\xe5\x29\0" + fields + texts + done(ERROR)


def test_an_error_while_rows_are_read_follows_the_rows(client: RawClient, backend: ScriptedBackend) -> None:
    backend.answers["fail"] = lambda: [Rows([Column("n", Type("int"))], numbers_that_fail(300))]
    answer = client.ask("fail")
    assert b"".join(map(row, range(300))) + b"\xe5" in answer
    assert numbers(answer) == [3607]
    assert answer.endswith(done(ERROR))


def test_a_batch_without_results_ends_with_a_done(client: RawClient) -> None:
    assert client.ask("nothing") == done(0)


# The first byte of what is not simulated; the rest of the request belongs to it.
@pytest.mark.parametrize(
    "token", [0xE6, 0xE8, 0x62, 0xE7, 0xA6, 0x10, 0x23, 0x80, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88], ids=hex
)
def test_what_is_not_simulated_is_refused_and_the_next_request_answered(
    client: RawClient, token: int
) -> None:
    answer = client.ask(bytes((token,)) + b"\5rest of it")
    assert numbers(answer) == [20999]
    assert answer.endswith(done(ERROR))
    assert client.ask("numbers 2").endswith(done(COUNT, 2))


@pytest.mark.parametrize("formats", [b"\xec", b"\x20"])
def test_a_batch_with_parameters_is_refused(client: RawClient, formats: bytes) -> None:
    answer = client.ask(language("numbers 1") + formats)
    assert answer.startswith(b"\xe5") and numbers(answer) == [20999]
    assert answer.endswith(done(ERROR))


def test_a_statement_without_rows_ends_with_a_done_that_counts_nothing(
    client: RawClient, backend: ScriptedBackend
) -> None:
    backend.answers["create"] = lambda: [Ended(), Affected(2)]
    assert client.ask("create") == done(MORE) + done(COUNT, 2)


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
        answer = client.login(USER, PASSWORD)
    name = b"ASE" if number >= b"\x0f" else b"sql server"
    assert bytes((len(name),)) + name + number + b"\xe2" in answer


def test_an_attention_ends_a_hanging_batch(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    client.send(b"", ATTENTION)
    assert client.reply() == done(ATTENTION_ACK)
    assert server.ask(backend.released.is_set)
    assert client.ask("numbers 2").endswith(done(COUNT, 2))


def test_an_attention_within_a_big_result_ends_it_at_a_token(client: RawClient) -> None:
    client.send("numbers 1000000")
    client.send(b"", ATTENTION)
    answer = client.reply()
    rows = rb"(?:\xd1.....row \d+\x08.{8})*"
    assert re.fullmatch(rb"\x61.{65}" + rows + re.escape(done(ATTENTION_ACK)), answer, re.DOTALL)
    assert b"row 999999" not in answer


@pytest.mark.parametrize("before", [b"", b"\x0f\0\0\x0c\0\0\0\0half"], ids=["idle", "half a request"])
def test_an_attention_is_acknowledged_and_drops_a_half_sent_request(client: RawClient, before: bytes) -> None:
    client.socket.sendall(before)
    client.send(b"", ATTENTION)
    assert client.reply() == done(ATTENTION_ACK)


def test_dropping_all_connections_ends_their_batches(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    server.ask(server.listener.drop)
    assert client.closed()
    server.ask(backend.released.wait)


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    backend.answers["huge"] = lambda: [Rows([Column("text", Type("text"))], [("x" * 50_000_000,)])]
    client.send("huge")
    assert client.socket.recv(1)
    server.ask(server.listener.drop)
    server.ask(server.listener.drained)
    assert server.listener.connections == 0


def test_a_client_that_goes_away_ends_its_batch(
    client: RawClient, backend: ScriptedBackend, server: Running
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    client.socket.close()
    server.ask(backend.released.wait)


def test_logout_is_answered_and_the_connection_closed(client: RawClient) -> None:
    assert client.ask(LOGOUT) == done(0)
    assert client.closed()


@pytest.mark.parametrize("garbage", [b"\x99", b"\x21\xff\xff\xff\xff", b"\xd7\0"])
def test_garbage_ends_the_connection_and_no_other(server: Running, client: RawClient, garbage: bytes) -> None:
    with RawClient(server.port) as other:
        other.login(USER, PASSWORD)
        client.send(garbage)
        assert client.closed()
        assert other.ask("numbers 1").endswith(done(COUNT, 1))


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
    assert client.ask("numbers 1").endswith(done(COUNT, 1))


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
        assert bytes((3, len(announced))) + announced.encode() in answer
        text = "Spinlöcke".encode(codec)
        assert b"\xd1" + bytes((len(text),)) + text + done(COUNT, 1) in client.ask("text")
