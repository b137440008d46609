"""Connections end on time whatever the server does, and name what went wrong."""

import socket
import threading
import time
from collections.abc import Callable

import pytest
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_exporter.connection import CANCEL_GRACE, Connection, DatabaseError, Endpoint
from ase_exporter.driver_socket import new_sockets_to
from ase_exporter.errors import UserError
from ase_simulator.faults import Break, Faults

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


def test_rows_come_in_select_order(server: Running) -> None:
    connection = connect(server)
    rows = connection.query("numbers 3", time.monotonic() + 30)
    assert [tuple(row) for row in rows] == [(n, f"row {n}", n << 20) for n in range(3)]
    connection.close()


def test_a_refused_password_is_named_with_the_servers_message(server: Running) -> None:
    error = failure(lambda: connect(server, password="wrong"), 30)
    assert (error.kind, error.number) == ("login_failed", 4002)
    assert "wrong" not in str(error)


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = Endpoint("127.0.0.1", closed.getsockname()[1])
        error = failure(lambda: Connection.open(endpoint, USER, "x", deadline=time.monotonic() + 30), 30)
    assert error.kind == "refused"


def test_an_unknown_host_is_named() -> None:
    endpoint = Endpoint("no-such-host.invalid", 5000)
    error = failure(lambda: Connection.open(endpoint, USER, "x", deadline=time.monotonic() + 30), 30)
    assert error.kind == "unknown_host"


def test_a_login_that_is_never_answered_ends_on_time(server: Running, faults: Faults) -> None:
    faults.mute = True
    error = failure(lambda: connect(server, seconds=2.5), 2.5)
    assert error.kind == "deadline"
    assert not new_sockets_to(("127.0.0.1", server.port))


def test_a_statement_that_hangs_is_cancelled_and_the_connection_stays(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ase_exporter.connection.CANCEL_GRACE", SLACK)
    connection = connect(server)
    error = failure(lambda: connection.query("hang", time.monotonic() + 1), 1)
    assert (error.kind, error.usable) == ("deadline", True)
    assert len(connection.query("numbers 2", time.monotonic() + 30)) == 2
    connection.close()


def test_a_server_that_ignores_the_cancel_is_cut_off(server: Running, faults: Faults) -> None:
    connection = connect(server)
    faults.hang = faults.ignore_attention = True
    error = failure(lambda: connection.query("numbers 2", time.monotonic() + 0.5), 0.5 + CANCEL_GRACE)
    assert (error.kind, error.usable) == ("deadline", False)
    started = time.monotonic()
    connection.close()
    assert time.monotonic() - started < SLACK


def test_rows_that_trickle_do_not_stretch_the_deadline(server: Running, faults: Faults) -> None:
    connection = connect(server)
    faults.seconds_per_row = 0.3
    error = failure(lambda: connection.query("numbers 1000", time.monotonic() + 1), 1)
    assert error.kind == "deadline"
    connection.close()


@pytest.mark.parametrize("how", ["close", "reset", "garbage"])
def test_a_connection_that_breaks_within_a_result_is_lost(server: Running, faults: Faults, how: str) -> None:
    connection = connect(server)
    faults.broken = Break(how, after_rows=5)  # type: ignore[arg-type]
    error = failure(lambda: connection.query("numbers 100", time.monotonic() + 30), 30)
    assert (error.kind, error.usable) == ("lost", False)
    connection.close()


def test_an_error_of_the_server_costs_only_the_statement(server: Running) -> None:
    connection = connect(server)
    error = failure(lambda: connection.query("error", time.monotonic() + 30), 30)
    assert (error.kind, error.number, error.usable) == ("query_failed", 208, True)
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


def test_a_password_that_freetds_would_cut_is_refused_unsent(
    server: Running, backend: ScriptedBackend
) -> None:
    with pytest.raises(UserError, match="PWD of the login"):
        connect(server, password="x};SERVER=other;")
    assert not backend.logins


def test_no_session_and_no_socket_is_left_behind(server: Running, backend: ScriptedBackend) -> None:
    for _ in range(5):
        connect(server).close()
    assert not new_sockets_to(("127.0.0.1", server.port))
    server.ask(server.listener.drained)
    assert backend.open_sessions == 0


def test_many_connections_to_one_server_find_their_own_sockets(server: Running) -> None:
    connections: list[Connection] = []
    threads = [
        threading.Thread(target=lambda: connections.append(connect(server, seconds=60))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({connection._socket for connection in connections}) == 8
    for connection in connections:
        connection.close()
