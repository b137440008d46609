"""Simulated servers of every version, reached through pyodbc and FreeTDS as in production."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import pytest
from tests.exporter.simulated import Simulated, run


@pytest.fixture(scope="session")
def simulated() -> Iterator[Callable[..., Simulated]]:
    """Servers by version and scenario, each started once. Not for tests that change a server."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda *which: stack.enter_context(run(*which)))


@pytest.fixture
def running() -> Callable[..., contextlib.AbstractContextManager[Simulated]]:
    """Starts a server of a version and scenario that the test may change."""
    return run
