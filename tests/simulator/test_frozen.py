"""Answers that are encoded once and repeated."""

from collections.abc import Iterator

import pytest
from tests.simulator.tds.raw import REQUESTS, RawClient, Token
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator.frozen import FrozenBackend
from ase_simulator.results import Column, EnvChange, Rows, Type
from ase_simulator.server import Listener

QUERY = "select n from master..monTable"


@pytest.fixture
def backend() -> ScriptedBackend:
    backend = ScriptedBackend()
    counter = iter(range(100))
    backend.answers[QUERY] = lambda: [Rows([Column("n", Type("bigint"), False)], [(next(counter),)])]
    backend.answers["select @@spid, 1"] = backend.answers[QUERY]
    backend.answers["select 1 use tempdb"] = lambda: [EnvChange("database", "tempdb", "master")]
    return backend


@pytest.fixture
def server(backend: ScriptedBackend) -> Iterator[Running]:
    with running(lambda: Listener(FrozenBackend(backend))) as run:
        yield run


def logged_in(server: Running, order: str = "<", requests: set[int] = REQUESTS) -> RawClient:
    client = RawClient(server.port, order)
    client.login(USER, PASSWORD, requests=requests)
    return client


def values(tokens: list[Token]) -> list[bytes]:
    return [token["values"][0] for token in tokens if token.name == "ROW"]


def test_a_query_is_run_once_for_all_connections(server: Running, backend: ScriptedBackend) -> None:
    for _ in range(2):
        with logged_in(server) as client:
            answers = [client.ask(client.codec.language(QUERY)) for _ in range(3)]
            assert [values(answer) for answer in answers] == [[bytes(8)]] * 3
            assert [answer[-1]["count"] for answer in answers] == [1, 1, 1]
    assert [sql for sql, _ in backend.heard] == [QUERY]


def test_the_selects_of_a_batch_are_frozen_one_by_one(server: Running, backend: ScriptedBackend) -> None:
    batch = "\n".join([QUERY, "select @@spid, 1", QUERY])
    with logged_in(server) as client:
        answers = [values(client.ask(client.codec.language(batch))) for _ in range(2)]
    # Both texts read one counter: the first is frozen, the one with a variable is not.
    assert [[value[0] for value in answer] for answer in answers] == [[0, 1, 0], [0, 2, 0]]
    assert [sql for sql, _ in backend.heard] == [QUERY, "select @@spid, 1", "select @@spid, 1"]


def test_each_kind_of_client_gets_its_own_encoding(server: Running) -> None:
    with logged_in(server) as little, logged_in(server, ">", REQUESTS - {51}) as other:
        assert values(little.ask(little.codec.language(QUERY))) == [bytes(8)]
        for _ in range(2):
            (number,) = values(other.ask(other.codec.language(QUERY)))
            assert len(number) == 9, "a numeric, as this client takes no bigint"


@pytest.mark.parametrize("sql", ["select @@spid, 1", "select 1 use tempdb", "numbers 1"])
def test_session_specific_queries_are_not_frozen(server: Running, backend: ScriptedBackend, sql: str) -> None:
    with logged_in(server) as client:
        for _ in range(2):
            client.ask(client.codec.language(sql))
    assert [heard for heard, _ in backend.heard] == [sql, sql]
