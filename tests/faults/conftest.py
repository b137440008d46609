"""A scripted server, for faults of one connection."""

from collections.abc import Iterator

import pytest
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_simulator.server import Listener


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend("password")


@pytest.fixture
def scripted(backend: ScriptedBackend) -> Iterator[Running]:
    with running(lambda: Listener(backend)) as server:
        yield server
