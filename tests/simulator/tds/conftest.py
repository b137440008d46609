from collections.abc import Iterator

import pytest
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_simulator.server import Listener


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def server(backend: ScriptedBackend) -> Iterator[Running]:
    with running(lambda: Listener(backend)) as run:
        yield run
    assert backend.open_sessions == 0
    assert run.listener.connections == 0
