"""Scripted faults as clients see them."""

import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.simulator.tds.raw import ATTENTION, HEADER, RawClient
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator import server as simulator_server
from ase_simulator.faults import Break
from ase_simulator.results import Column, Rows, Type
from ase_simulator.tds import connection as tds_connection


@pytest.fixture
def client(server: Running) -> Iterator[RawClient]:
    client = RawClient(server.port)
    client.login(USER, PASSWORD)
    yield client
    client.socket.close()


def silent(client: RawClient, seconds: float = 0.3) -> bool:
    """Whether nothing arrives for a while; an absent event cannot be awaited."""
    client.socket.settimeout(seconds)
    try:
        client.socket.recv(1)
    except TimeoutError:
        return True
    return False


def refused(port: int) -> bool:
    """Whether a connection ends at once, be it before or after connect returns."""
    try:
        with RawClient(port) as client:
            return client.closed()
    except ConnectionResetError:
        return True


def everything(client: RawClient) -> bytes:
    """All that comes until the connection ends, without packet headers."""
    data = b""
    while True:
        try:
            header = client.exactly(HEADER.size)
            data += client.exactly(struct.unpack(">H", header[2:4])[0] - HEADER.size)
        except EOFError:
            return data


def test_mute_accepts_a_connection_and_never_answers(server: Running) -> None:
    server.listener.faults.mute = True
    with RawClient(server.port) as client:
        client.send(client.codec.login(USER, PASSWORD), 2)
        assert silent(client)


def test_refuse_ends_new_connections_and_keeps_the_old(server: Running, client: RawClient) -> None:
    server.listener.faults.refuse = True
    assert refused(server.port)
    assert client.ask(client.codec.language("numbers 1"))


def test_hang_never_answers_but_an_attention(server: Running, client: RawClient) -> None:
    server.listener.faults.hang = True
    client.send(client.codec.language("numbers 1"))
    assert silent(client)
    client.socket.settimeout(60)
    client.send(b"", ATTENTION)
    (done,) = client.reply()
    assert done["status"] == 0x20


def test_ignored_attentions_are_never_answered(server: Running, client: RawClient) -> None:
    server.listener.faults.ignore_attention = True
    client.send(client.codec.language("hang"))
    client.send(b"", ATTENTION)
    assert silent(client)


def test_faults_affect_only_requests_that_contain_the_text(server: Running, client: RawClient) -> None:
    server.listener.faults.hang = True
    server.listener.faults.only = "monSpinlockActivity"
    assert client.ask(client.codec.language("numbers 1"))
    client.send(client.codec.language("select * from monSpinlockActivity"))
    assert silent(client)


def test_close_breaks_off_within_a_row(server: Running, client: RawClient) -> None:
    server.listener.faults.broken = Break("close", after_rows=2)
    client.send(client.codec.language("numbers 1000"))
    data = everything(client)
    whole = b"row 2\x08" + struct.pack("<q", 2 << 20)
    assert data.endswith(whole[:-1])


def test_reset_closes_with_a_rst(server: Running, client: RawClient) -> None:
    server.listener.faults.broken = Break("reset", after_rows=2)
    client.send(client.codec.language("numbers 1000"))
    with pytest.raises(ConnectionResetError):
        everything(client)


def test_garbage_is_a_token_that_no_client_knows(server: Running, client: RawClient) -> None:
    server.listener.faults.broken = Break("garbage", after_rows=1)
    with pytest.raises((KeyError, AssertionError)):
        client.ask(client.codec.language("numbers 1000"))


def test_rows_may_be_sent_slowly(server: Running, client: RawClient) -> None:
    server.listener.faults.seconds_per_row = 0.05
    started = time.monotonic()
    answer = client.ask(client.codec.language("numbers 4"))
    assert time.monotonic() - started >= 4 * 0.05
    assert len([token for token in answer if token.name == "ROW"]) == 4
    assert len(client.packet_sizes) >= 5


def test_dropping_all_connections_ends_their_batches(
    server: Running, client: RawClient, backend: ScriptedBackend
) -> None:
    client.send(client.codec.language("hang"))
    server.ask(backend.hanging.wait)
    server.ask(server.listener.drop)
    assert client.closed()
    server.ask(backend.released.wait)


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    server: Running, client: RawClient, backend: ScriptedBackend
) -> None:
    backend.answers["huge"] = lambda: [Rows([Column("text", Type("text"))], [("x" * 50_000_000,)])]
    client.send(client.codec.language("huge"))
    assert client.socket.recv(1)
    server.ask(server.listener.drop)
    server.ask(server.listener.drained)
    assert server.listener.connections == 0


def test_connections_beyond_the_limit_are_refused_and_the_others_served(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator_server, "MAX_CONNECTIONS", 2)
    clients = [RawClient(server.port) for _ in range(2)]
    for client in clients:
        client.login(USER, PASSWORD)
    assert refused(server.port)
    for client in clients:
        assert client.ask(client.codec.language("numbers 1"))
        client.socket.close()


def test_a_client_that_never_logs_in_is_disconnected(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tds_connection, "SECONDS_TO_LOG_IN", 0.1)
    with RawClient(server.port) as client:
        assert client.closed()


def test_two_hundred_concurrent_connections_are_served(server: Running, backend: ScriptedBackend) -> None:
    failed: list[BaseException] = []

    def work(act: Callable[[RawClient], None]) -> None:
        try:
            with RawClient(server.port) as client:
                act(client)
        except BaseException as error:
            failed.append(error)

    everybody = threading.Barrier(200, timeout=60)

    def act(client: RawClient) -> None:
        client.login(USER, PASSWORD)
        everybody.wait()
        rows = [token for token in client.ask(client.codec.language("numbers 100")) if token.name == "ROW"]
        assert len(rows) == 100
        everybody.wait()

    threads = [threading.Thread(target=work, args=(act,)) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
