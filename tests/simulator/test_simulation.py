"""Model, T-SQL and TDS together, as clients see them."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.simulator.tds.raw import ATTENTION, ATTENTION_ACK, COUNT, RawClient, done
from tests.simulator.tds.running import Running, running

from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

JOIN = (
    "select a.SpinlockName, b.SpinlockName from master..monSpinlockActivity a, master..monSpinlockActivity b"
)


@pytest.fixture
def model() -> SimulatedServer:
    (server,) = load_scenario("memscale", speed=0)
    return server


@pytest.fixture
def server(model: SimulatedServer) -> Iterator[Running]:
    with running(lambda: simulation(model, None, "127.0.0.1", 0)) as run:
        yield run


def logged_in(server: Running) -> RawClient:
    client = RawClient(server.port)
    assert client.login("sa", "").endswith(done(0))
    return client


def test_clients_may_leave_while_their_queries_run(server: Running) -> None:
    for _ in range(20):
        with logged_in(server) as client:
            client.send(JOIN)
    with logged_in(server) as client:
        assert client.ask("select 1").endswith(done(COUNT, 1))


def test_a_session_may_cancel_its_queries_again_and_again(server: Running) -> None:
    with logged_in(server) as client:
        for _ in range(20):
            client.send(JOIN)
            client.send(b"", ATTENTION)
            assert client.reply().endswith(done(ATTENTION_ACK))
        assert client.ask("select 1").endswith(done(COUNT, 1))


def test_a_restart_drops_all_connections_and_logins_fail_after_a_shutdown_until_it(
    server: Running, model: SimulatedServer
) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(logged_in(server)) for _ in range(3)]
        server.ask(model.restart)
        assert all(client.closed() for client in clients)
    logged_in(server).socket.close()
    server.ask(model.shutdown)
    with pytest.raises((ConnectionResetError, EOFError)):
        logged_in(server)
    server.ask(model.restart)
    logged_in(server).socket.close()
