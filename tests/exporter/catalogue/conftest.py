"""Simulated servers of every version, reached through pyodbc and FreeTDS as in production."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import pytest
from tests.exporter.simulated import Simulated, run

from ase_exporter.catalogue import ServerFacts, read_facts


@pytest.fixture(scope="session")
def simulated() -> Iterator[Callable[..., Simulated]]:
    """Servers by version and scenario, each started once. Not for tests that change a server."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda *which: stack.enter_context(run(*which)))


@pytest.fixture(scope="session")
def facts_of(simulated: Callable[..., Simulated]) -> Callable[[str], ServerFacts]:
    """What a login with mon_role reads of a server, by version."""

    @functools.cache
    def read(version: str) -> ServerFacts:
        with simulated(version, "quiet-oltp").login("monitor") as query:
            return read_facts(query)

    return read
