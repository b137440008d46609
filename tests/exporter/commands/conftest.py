"""A simulated server for the commands of a module."""

from collections.abc import Iterator

import pytest
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated

ENABLED = ("enable monitoring", "enable spinlock monitoring", "errorlog pipe active")


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    """A server that has switched on what `check` asks for."""
    with simulated("16.0 SP04", "quiet-oltp") as running:
        with running.login("sa") as query:
            for option in ENABLED:
                query(f"exec sp_configure '{option}', 1")
        yield running
