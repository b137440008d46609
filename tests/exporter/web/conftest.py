"""A simulated server for the exporters of a module."""

from collections.abc import Iterator

import pytest
from tests.exporter.simulated import Simulated, run


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server
