"""A scripted server, for the tests that look at one connection, and a Prometheus with a recorded story."""

import os
from collections.abc import Iterator

import pytest
from tests.exporter.analysis.story import Story, stored
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


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    base = tmp_path_factory.getbasetemp()
    # With several test processes, each has its own folder in the one of all.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with stored(shared, tmp_path_factory.mktemp("story")) as found:
        yield found
