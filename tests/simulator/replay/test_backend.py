"""The replay of a capture: which recorded answer a statement gets."""

import asyncio
from collections.abc import Sequence

from ase_simulator.contracts import LoginRequest
from ase_simulator.replay.backend import NOT_RECORDED, ReplayBackend, ReplaySession
from ase_simulator.replay.file import Recorded
from ase_simulator.results import Column, Message, Result, Rows, Type

INT = Type("int")


def rows(value: int, *more: int, names: Sequence[str] = ("n",)) -> list[Result]:
    return [Rows([Column(name, INT, False) for name in names], [(value, *more)])]


def session(*statements: Recorded) -> ReplaySession:
    found = ReplayBackend(statements).login(LoginRequest("sa", ""))
    assert isinstance(found, ReplaySession)
    return found


def run(connection: ReplaySession, sql: str) -> list[Result]:
    async def collect() -> list[Result]:
        return [result async for result in connection.execute(sql)]

    return asyncio.run(collect())


def value(connection: ReplaySession, sql: str) -> object:
    (result,) = run(connection, sql)
    assert isinstance(result, Rows), result
    return next(iter(result.rows))[0]


A, B, C, D = (f"select {letter.lower()} from master..mon{letter}" for letter in "ABCD")


def test_a_statement_that_comes_again_begins_the_next_scrape() -> None:
    recorded = [
        Recorded(scrape, sql, rows(10 * scrape + n)) for scrape in (1, 2) for n, sql in ((1, A), (2, B))
    ]
    connection = session(*recorded)
    assert [value(connection, sql) for sql in (A, B, A, B, A, B)] == [11, 12, 21, 22, 21, 22]


def test_each_connection_begins_at_the_first_scrape() -> None:
    backend = ReplayBackend([Recorded(1, A, rows(1)), Recorded(2, A, rows(2))])
    for _ in range(2):
        connection = backend.login(LoginRequest("sa", ""))
        assert isinstance(connection, ReplaySession)
        assert [value(connection, A), value(connection, A)] == [1, 2]


def test_a_statement_recorded_twice_in_a_scrape_gives_both_answers_in_it() -> None:
    connection = session(Recorded(1, A, rows(1)), Recorded(1, A, rows(2)), Recorded(2, A, rows(3)))
    assert [value(connection, A) for _ in range(4)] == [1, 2, 3, 3]


def test_a_statement_of_another_scrape_is_answered_from_the_scrape_before() -> None:
    connection = session(
        Recorded(1, A, rows(1)), Recorded(1, B, rows(7)), Recorded(2, A, rows(2)), Recorded(3, A, rows(3))
    )
    assert [value(connection, sql) for sql in (A, B, A, B, A, B)] == [1, 7, 2, 7, 3, 7]


def test_a_batch_has_a_statement_on_each_line() -> None:
    connection = session(Recorded(1, A, rows(1)), Recorded(1, B, rows(2)))
    assert len(run(connection, f"{A}\n{B}")) == 2


def test_fewer_columns_of_a_table_are_selected_from_what_was_recorded() -> None:
    sql = "select a, b = convert(bigint, b), c from master..monA where a > 0"
    connection = session(Recorded(1, sql, rows(1, 2, 3, names="abc")))
    (result,) = run(connection, "select c, b = convert(bigint, b) from master..monA where a > 0")
    assert isinstance(result, Rows)
    assert [column.name for column in result.columns] == ["c", "b"]
    assert list(result.rows) == [[3, 2]]
    for other in (
        "select d from master..monA where a > 0",
        "select a from master..monA",
        "select b from master..monA where a > 0",
    ):
        (message,) = run(connection, other)
        assert isinstance(message, Message) and message.number == NOT_RECORDED


def test_an_unrecorded_statement_gets_a_clear_error() -> None:
    (message,) = run(session(Recorded(1, A, rows(1))), "select 1 from secrets")
    assert isinstance(message, Message)
    assert (message.number, message.severity) == (NOT_RECORDED, 16)
    assert message.text == "This statement is not in the capture: select 1 from secrets\n"


def test_what_drivers_and_tests_of_a_connection_send_has_an_answer() -> None:
    connection = session(Recorded(1, A, rows(1)))
    assert value(connection, "set textsize 64512 select @@spid ") == connection.spid
    assert value(connection, "select 12345") == 12345
    assert run(connection, "set lock wait 2") == []


def test_the_time_that_audit_events_reach_back_may_differ() -> None:
    sql = "select x from sybsecurity..ch_events where timestamp > dateadd(ss, -{}, getdate())"
    assert value(session(Recorded(1, sql.format(604800), rows(1))), sql.format(120)) == 1


def test_a_wrong_password_is_refused() -> None:
    refused = ReplayBackend([]).login(LoginRequest("sa", "wrong"))
    assert isinstance(refused, Message) and refused.number == 4002


def test_a_batch_ends_at_an_error_and_what_is_then_asked_again_is_of_the_same_scrape() -> None:
    recorded = [
        Recorded(scrape, sql, rows(10 * scrape + n))
        for scrape in (1, 2)
        for n, sql in enumerate((A, B, D), start=1)
    ]
    failing = [*recorded, *(Recorded(scrape, C, [Message(12052, 16, 1, "no")]) for scrape in (1, 2))]
    # One that was not recorded, and one that failed when it was.
    for connection, wrong in ((session(*recorded), "select z from master..monZ"), (session(*failing), C)):
        batch = run(connection, f"{A}\n{B}\n{wrong}\n{D}")
        assert [type(result) for result in batch] == [Rows, Rows, Message]
        # Clients know that the rows before an error are complete only when the next result begins.
        assert isinstance(run(connection, wrong)[0], Message)
        assert [value(connection, sql) for sql in (B, D)] == [12, 13]
        assert [value(connection, sql) for sql in (A, B, D)] == [21, 22, 23]


def test_the_first_statement_of_a_batch_may_fail() -> None:
    connection = session(
        *(Recorded(scrape, A, [Message(12052, 16, 1, "no")]) for scrape in (1, 2)),
        *(Recorded(scrape, B, rows(10 * scrape)) for scrape in (1, 2)),
    )
    for expected in (10, 20):
        assert len(run(connection, f"{A}\n{B}")) == len(run(connection, A)) == 1
        assert value(connection, B) == expected


def test_a_number_of_any_size_comes_back() -> None:
    # The exporter's tests of a connection have up to 30 bits.
    assert value(session(), f"select {2**30 - 1}") == 2**30 - 1
    (message,) = run(session(), f"select {2**31}")
    assert isinstance(message, Message) and message.number == NOT_RECORDED
