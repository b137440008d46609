"""Connections that the listener ends, refuses, or need not wait for. Its faults are tested by those of the exporter."""

from collections.abc import Iterator

import pytest
from tests.simulator.tds.raw import RawClient
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator.results import Column, Rows, Type


@pytest.fixture
def client(server: Running) -> Iterator[RawClient]:
    client = RawClient(server.port)
    client.login(USER, PASSWORD)
    yield client
    client.socket.close()


def test_dropping_all_connections_ends_their_batches(
    server: Running, client: RawClient, backend: ScriptedBackend
) -> None:
    client.send("hang")
    server.ask(backend.hanging.wait)
    server.ask(server.listener.drop)
    assert client.closed()
    server.ask(backend.released.wait)


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    server: Running, client: RawClient, backend: ScriptedBackend
) -> None:
    backend.answers["huge"] = lambda: [Rows([Column("text", Type("text"))], [("x" * 50_000_000,)])]
    client.send("huge")
    assert client.socket.recv(1)
    server.ask(server.listener.drop)
    server.ask(server.listener.drained)
    assert server.listener.connections == 0
