from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conformance import builds, cases
from tests.conformance.bridge import Bridge
from tests.conformance.odbc import Odbc
from tests.conformance.target import Target, Watch, WatchedBackend
from tests.conformance.tools import tools
from tests.conformance.transcript import Client, Transcript
from tests.simulator.tds.running import running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_simulator.model import load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login

PASSWORD = "s3cret"

GO_MISSING = {
    "real": "thda/tds reads FLTN(4) as 8 bytes",
    "smallmoney": "thda/tds reads MONEYN(4) as 8 bytes",
    "time": "thda/tds: unexpected data type",
    "bigtime": "thda/tds shows a wrong value",
}


class GoBridge(Bridge):
    def call(self, procedure: str, argument: int) -> Transcript:
        """database/sql knows no RPC."""
        return self.batch(cases.call_by_batch(procedure, argument))


def _tool(name: str) -> Callable[[Target, Path], Client]:
    def make(target: Target, folder: Path) -> Client:
        found = tools(target.server.port, target.user, target.password, folder)
        return next(tool for tool in found if tool.name == name)

    return make


CLIENTS: dict[str, Callable[[Target, Path], Client]] = {
    "jTDS": lambda t, _: Bridge("jTDS", builds.jtds_bridge(), t.server.port, t.user, t.password, {}),
    "thda": lambda t, _: GoBridge("thda", builds.go_bridge(), t.server.port, t.user, t.password, GO_MISSING),
    "pyodbc": lambda t, _: Odbc(t.server.port, t.user, t.password),
    "tsql": _tool("tsql"),
    "fisql": _tool("fisql"),
}


@pytest.fixture(scope="session")
def scripted() -> Iterator[Target]:
    backend = ScriptedBackend(password=PASSWORD)
    backend.answers |= cases.scripted_answers()
    backend.parameters[cases.PREPARED] = cases.PREPARED_TYPES
    watch = Watch(cases.HANG)
    with running(lambda: Listener(WatchedBackend(backend, watch))) as server:
        target = Target(server, "sa", PASSWORD, watch, learn=backend.answers.update)
        yield target
    assert backend.open_sessions == 0


@pytest.fixture(scope="session")
def simulator() -> Iterator[Target]:
    (model,) = load_scenario("memscale")
    backend = SqlBackend(model, [Login("sa", PASSWORD, roles=list(FULL))])
    watch = Watch(cases.HANG)
    with running(lambda: Listener(WatchedBackend(backend, watch))) as server:
        target = Target(server, "sa", PASSWORD, watch, learn=lambda answers: None)
        admin = Odbc(server.port, target.user, target.password)
        assert admin.batch(cases.CREATE_PROCEDURE).errors == []
        admin.close()
        yield target
    assert not backend.shared.sessions


@pytest.fixture(params=["scripted", "simulator"])
def target(request: pytest.FixtureRequest) -> Target:
    target: Target = request.getfixturevalue(request.param)
    target.watch.hanging.clear()
    target.watch.over.clear()
    return target


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest, target: Target, tmp_path: Path) -> Iterator[Client]:
    client = CLIENTS[request.param](target, tmp_path)
    target.learn(cases.scripted_types({*client.missing, *target.missing}))
    yield client
    client.close()
