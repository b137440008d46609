"""A scripted server, for the tests that look at one connection."""

from collections.abc import Iterator

import pytest
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_simulator.faults import Faults
from ase_simulator.server import Listener


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def server(backend: ScriptedBackend, faults: Faults) -> Iterator[Running]:
    with running(lambda: Listener(backend, faults=faults)) as run:
        yield run
