from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conformance import cases
from tests.conformance.odbc import Odbc
from tests.conformance.target import Target, Watch, watched
from tests.conformance.transcript import Client
from tests.conformance.tsql import Tsql
from tests.simulator.tds.running import running

from ase_simulator.model import load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login

PASSWORD = "s3cret"

CLIENTS: dict[str, Callable[[Target, Path], Client]] = {
    "pyodbc": lambda t, _: Odbc(t.server.port, t.user, t.password),
    "tsql": lambda t, folder: Tsql(t.server.port, t.user, t.password, folder),
}


@pytest.fixture(scope="session")
def simulator() -> Iterator[Target]:
    (model,) = load_scenario("memscale")
    backend = SqlBackend(model, [Login("sa", PASSWORD, roles=list(FULL))])
    watch = Watch(cases.HANG)
    with watched(watch), running(lambda: Listener(backend)) as server:
        target = Target(server, "sa", PASSWORD, watch)
        yield target
    assert not backend.shared.sessions


@pytest.fixture
def target(simulator: Target) -> Target:
    simulator.watch.hanging.clear()
    simulator.watch.over.clear()
    return simulator


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest, target: Target, tmp_path: Path) -> Iterator[Client]:
    client = CLIENTS[request.param](target, tmp_path)
    yield client
    client.close()
