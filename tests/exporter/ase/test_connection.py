"""Connections end on time whatever the server does, and report what went wrong."""

import errno
import os
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Sized
from typing import NamedTuple

import pyodbc
import pytest
from tests.faults.login_server import ACCEPTED, Endless, Last, login_server, message, session
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend, numbers

from ase_exporter.ase.connection import (
    FETCH_ROWS,
    MAX_ENCRYPTED,
    MAX_NAME,
    Connection,
    DatabaseError,
    Endpoint,
)
from ase_exporter.ase.driver_socket import new_sockets_to
from ase_exporter.ase.timing import TIMING
from ase_exporter.errors import UserError
from ase_simulator.faults import Break, Faults
from ase_simulator.results import Column, Rows, Type

# What a busy machine may add to a deadline before a test calls it missed; without one, each would last for ever.
SLACK = 20.0


def connect(server: Running, seconds: float = 30, password: str = PASSWORD) -> Connection:
    endpoint = Endpoint("127.0.0.1", server.port)
    return Connection.open(endpoint, USER, password, deadline=time.monotonic() + seconds)


def failure(action: Callable[[], object], seconds: float) -> DatabaseError:
    """The error that an action ends with, which must come by its deadline."""
    started = time.monotonic()
    with pytest.raises(DatabaseError) as caught:
        action()
    assert time.monotonic() - started < seconds + SLACK
    return caught.value


def test_an_unknown_host_is_named() -> None:
    endpoint = Endpoint("no-such-host.invalid", 5000)
    error = failure(lambda: Connection.open(endpoint, USER, "x", deadline=time.monotonic() + 30), 30)
    assert error.kind == "unknown_host"


def test_a_login_that_is_never_answered_ends_on_time(server: Running, faults: Faults) -> None:
    faults.mute = True
    error = failure(lambda: connect(server, seconds=2.5), 2.5)
    assert error.kind == "deadline"
    assert not new_sockets_to(("127.0.0.1", server.port))


def test_a_login_finds_its_socket_while_another_connection_to_the_server_is_closing(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = connect(server)

    class Closing(NamedTuple):
        raw: pyodbc.Connection

        def close(self) -> None:
            connect(server).close()
            self.raw.close()

    monkeypatch.setattr(closing, "_raw", Closing(closing._raw))
    closing.close()
    assert not new_sockets_to(("127.0.0.1", server.port))


# More rows than one call of the driver fetches.
QUERY = f"numbers {FETCH_ROWS + 500}"


def fetch(connection: Connection, seconds: float) -> Sized:
    return connection.query(QUERY, time.monotonic() + seconds)


def test_a_statement_that_hangs_is_cancelled_and_the_connection_stays(
    server: Running, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TIMING, "cancel_grace", SLACK)
    connection = connect(server)
    usual = fetch(connection, 30)
    faults.hang = True
    error = failure(lambda: fetch(connection, 1), 1)
    assert (error.kind, error.usable) == ("deadline", True)
    faults.hang = False
    assert len(fetch(connection, 30)) == len(usual)
    connection.close()


def test_a_server_that_ignores_the_cancel_is_cut_off(server: Running, faults: Faults) -> None:
    connection = connect(server)
    faults.hang = faults.ignore_attention = True
    error = failure(lambda: connection.query("numbers 2", time.monotonic() + 0.5), 0.5 + TIMING.cancel_grace)
    assert (error.kind, error.usable) == ("deadline", False)
    started = time.monotonic()
    connection.close()
    assert time.monotonic() - started < SLACK


def test_rows_that_trickle_do_not_stretch_the_deadline(server: Running, faults: Faults) -> None:
    connection = connect(server)
    fetch(connection, 30)
    faults.seconds_per_row = 0.3
    assert failure(lambda: fetch(connection, 1), 1).kind == "deadline"
    connection.close()


@pytest.mark.parametrize("how", ["close", "reset", "garbage"])
def test_a_connection_that_breaks_within_a_result_is_lost(server: Running, faults: Faults, how: str) -> None:
    connection = connect(server)
    fetch(connection, 30)
    faults.broken = Break(how, after_rows=5)  # type: ignore[arg-type]
    error = failure(lambda: fetch(connection, 30), 30)
    assert (error.kind, error.usable) == ("lost", False)
    connection.close()


def test_a_million_rows_are_not_read_to_the_end(server: Running, backend: ScriptedBackend) -> None:
    connection = connect(server)
    fetch(connection, 30)
    backend.answers[QUERY] = lambda: [numbers(1_000_000)]
    error = failure(lambda: fetch(connection, 120), 120)
    assert (error.kind, error.usable) == ("too_many_rows", True)
    assert len(connection.query("numbers 2", time.monotonic() + 30)) == 2
    connection.close()


@pytest.mark.parametrize(
    "password",
    [
        "a;b",
        "a}b",
        "}x",
        "{x}",
        "a=b",
        "naïve",
        " lead",
        "trail ",
        "it's",
        'say "x"',
        "PWD=x;UID=sa",
        "x" * 30,
    ],
)
def test_a_password_of_any_characters_arrives_as_it_is(
    server: Running, backend: ScriptedBackend, password: str
) -> None:
    backend.password = password
    connect(server, password=password).close()


@pytest.mark.parametrize(
    ("what", "value", "encrypted", "wrong"),
    [
        ("password", "x};SERVER=other;", False, "contains '};' or NUL"),
        ("password", "planted\0", False, "contains '};' or NUL"),
        ("password", "x" * 31, False, "has 31 bytes in UTF-8, of which FreeTDS would send 30"),
        ("password", "\u20ac" * 11, False, "has 33 bytes"),
        ("password", "x" * 183, True, "has 183 bytes in UTF-8, of which FreeTDS would send 182"),
        ("password", "x" * 30 + "\udcff", True, "expected text in UTF-8"),
        ("user", "x" * 31, True, "has 31 bytes"),
        ("user", "a};b", False, "contains '};' or NUL"),
    ],
)
def test_a_password_that_freetds_would_cut_is_refused_unsent(
    server: Running, backend: ScriptedBackend, what: str, value: str, encrypted: bool, wrong: str
) -> None:
    endpoint = Endpoint("127.0.0.1", server.port, encrypt_password=encrypted)
    user, password = (value, PASSWORD) if what == "user" else (USER, value)
    with pytest.raises(UserError, match=f"^the {what} of the login.*{wrong}") as refused:
        Connection.open(endpoint, user, password, deadline=time.monotonic() + 30)
    assert value not in str(refused.value)
    assert not backend.logins


def test_the_longest_passwords_arrive_whole(server: Running, backend: ScriptedBackend) -> None:
    for length, encrypted in ((MAX_NAME, False), (MAX_NAME + 1, True), (MAX_ENCRYPTED, True)):
        backend.password = "x" * length
        endpoint = Endpoint("127.0.0.1", server.port, encrypt_password=encrypted)
        Connection.open(endpoint, USER, backend.password, deadline=time.monotonic() + 30).close()


def several_addresses(monkeypatch: pytest.MonkeyPatch, port: int, *hosts: str) -> Endpoint:
    """An endpoint whose name has these addresses, in this order."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in hosts]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    return Endpoint("several.example", port)


def test_every_address_of_a_host_is_tried(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    # The simulated server listens on 127.0.0.1 alone.
    endpoint = several_addresses(monkeypatch, server.port, "127.0.0.2", "127.0.0.1")
    connection = Connection.open(endpoint, USER, PASSWORD, deadline=time.monotonic() + 30)
    assert len(connection.query("numbers 3", time.monotonic() + 30)) == 3
    connection.close()


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.2", server.port))
        silent.listen(8)
        endpoint = several_addresses(monkeypatch, server.port, "127.0.0.2", "127.0.0.1")
        connection = Connection.open(endpoint, USER, PASSWORD, deadline=time.monotonic() + 10)
        connection.close()


def test_a_refused_password_is_not_sent_to_another_address(
    server: Running, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = several_addresses(monkeypatch, server.port, "127.0.0.1", "127.0.0.1")
    error = failure(lambda: Connection.open(endpoint, USER, "wrong", deadline=time.monotonic() + 30), 30)
    assert error.kind == "login_failed"
    assert len(backend.logins) == 1


def test_a_socket_is_found_and_cut_off_even_if_no_descriptor_is_left(
    server: Running, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_: int | str) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "listdir", none_left)
    connection = connect(server)
    faults.hang = faults.ignore_attention = True
    monkeypatch.setattr(os, "dup", none_left)
    error = failure(lambda: connection.query("hang", time.monotonic() + 0.5), 0.5)
    assert (error.kind, error.usable) == ("deadline", False)
    monkeypatch.undo()
    connection.close()


def reply(*parts: bytes) -> bytes:
    """A packet of a reply that goes on."""
    return struct.pack(">BBHHBB", 4, 0, 8 + len(b"".join(parts)), 0, 0, 0) + b"".join(parts)


MESSAGES = reply(*7 * [message(5701, 10, "x" * 3000)]) * 10
# More than any call of the driver may get.
FLOOD = MESSAGES * 70


def flooded(begin: bytes, *, ends: bool = False) -> list[DatabaseError]:
    """What a query raises if the server answers with these tokens, and then with messages without end.

    ends: the connection ends then. The driver may take all messages for one value, before anybody counts: it would wait
    for more of it.
    """

    def talk(statement: bytes) -> bytes:
        answer = (reply(begin) if begin else b"") + FLOOD
        return session(statement) if b"flood" not in statement else (Last if ends else Endless)(answer)

    caught: list[DatabaseError] = []
    with login_server(ACCEPTED, talk) as server:
        endpoint = Endpoint("127.0.0.1", server.port)
        connection = Connection.open(endpoint, USER, PASSWORD, deadline=time.monotonic() + 30)

        def fetch() -> None:
            try:
                # On a busy machine the driver reads slowly; it is the flood that must end the call.
                connection.query("flood", time.monotonic() + 90)
            except DatabaseError as error:
                caught.append(error)

        # The driver may not come back at all.
        thread = threading.Thread(target=fetch, daemon=True)
        thread.start()
        thread.join(100)
        connection.close()
    return caught


def row_format(kind: int, size: bytes, columns: int = 1) -> bytes:
    """A TDS 5.0 ROWFMT token: unnamed columns of a type, with its size."""
    column = struct.pack("<BBIB", 0, 0, 0, kind) + size + b"\0"
    return b"\xee" + struct.pack("<HH", 2 + columns * len(column), columns) + columns * column


@pytest.mark.parametrize(
    "begin", [b"", row_format(0x38, b"") + 3 * (b"\xd1" + struct.pack("<i", 7))], ids=["alone", "among rows"]
)
def test_messages_without_end_are_cut_off(begin: bytes) -> None:
    assert [str(error) for error in flooded(begin)] == ["the server sends messages without end"]


@pytest.mark.parametrize(
    "tokens",
    [
        row_format(0x27, b"\x00") + b"\xd1\xff",
        row_format(0xAF, b"\x40\0\0\0") + b"\xd1\xff\xff\xff\x7f",
        row_format(0xAF, b"\xff\xff\xff\xff") + b"\xd1\xff\xff\xff\xff",
        row_format(0xAF, b"\xff\xff\xff\x7f") + b"\xd1\xff\xff\xff\x7f",
        row_format(0x38, b"", 7000) + b"\xd1",
    ],
    ids=range(5),
)
def test_impossible_sizes_are_one_error(tokens: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert [error.usable for error in flooded(tokens, ends=True)] == [False]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10, "KiB"


def test_large_results_are_no_messages_without_end(server: Running, backend: ScriptedBackend) -> None:
    wide = "x" * 2000
    backend.answers["wide"] = lambda: [Rows([Column("a", Type("varchar", 2000))], [(wide,)] * 30_000)]
    connection = connect(server)
    rows = connection.query("wide", time.monotonic() + 120)
    assert [tuple(row) for row in rows] == [(wide,)] * 30_000
    connection.close()


@pytest.mark.parametrize(
    ("variable", "value"), [("TDSHOST", "203.0.113.1"), ("TDSPORT", "1"), ("TDSVER", "7.4")]
)
def test_the_environment_sends_no_login_elsewhere(
    server: Running, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    connect(server).close()
