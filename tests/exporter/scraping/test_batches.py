"""Many selects in one round trip: each select gets its own result, and an error costs what it would cost alone."""

import asyncio
import struct
import time
from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest
from tests.exporter import simulated
from tests.exporter.ase.test_connection import connect
from tests.exporter.parrot import EOM, HEADER, Parrot, Recording, listening
from tests.exporter.simulated import Simulated, run
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ScriptedBackend, numbers, numbers_that_fail

from ase_exporter.ase.connection import Connection, DatabaseError, Row
from ase_exporter.ase.timing import TIMING
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_simulator.faults import Faults
from ase_simulator.results import Affected, Column, Message, Result, Rows, Type

SELECTS = ("one", "two", "three")


@pytest.fixture
def connection(server: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    # However late a cancelled statement comes back, the connection is kept.
    monkeypatch.setattr(TIMING, "cancel_grace", 60.0)
    yield (opened := connect(server, 60))
    opened.close()


def together(
    connection: Connection,
    backend: ScriptedBackend,
    *results: Result,
    seconds: Iterable[float] = repeat(60.0),
) -> tuple[list[list[Row]], DatabaseError | None]:
    """What three selects give, answered by these results, and the error that ended it. seconds: for each result."""
    left = iter(seconds)
    backend.answers["\n".join(SELECTS)] = lambda: list(results)
    given: list[list[Row]] = []
    try:
        for rows in connection.query_batch(SELECTS, lambda: time.monotonic() + next(left)):
            given.append(rows)  # noqa: PERF402  # what came before an error counts
    except DatabaseError as error:
        return given, error
    return given, None


def still_good(connection: Connection) -> bool:
    return len(connection.query("numbers 7", time.monotonic() + 60)) == 7


def test_each_select_gets_its_result_in_one_round_trip(
    connection: Connection, backend: ScriptedBackend
) -> None:
    before = len(backend.heard)
    given, error = together(connection, backend, numbers(2), numbers(0), numbers(3))
    assert error is None
    assert [[row[0] for row in rows] for rows in given] == [[0, 1], [], [0, 1, 2]]
    assert len(backend.heard) == before + 1


def test_an_error_keeps_the_complete_results_before_it(
    connection: Connection, backend: ScriptedBackend
) -> None:
    failing = Rows([Column("n", Type("int"), False)], numbers_that_fail(5))
    given, error = together(connection, backend, numbers(2), failing, numbers(3))
    assert error is not None
    assert (error.kind, error.number, error.usable) == ("query_failed", 3607, True)
    assert [len(rows) for rows in given] == [2]
    assert still_good(connection)


def test_an_error_instead_of_rows_keeps_at_most_the_results_before_it(
    connection: Connection, backend: ScriptedBackend
) -> None:
    missing = Message(208, 16, 1, "three not found.")
    given, error = together(connection, backend, numbers(2), numbers(4), missing)
    assert error is not None
    assert (error.kind, error.number, error.usable) == ("query_failed", 208, True)
    assert [len(rows) for rows in given] in ([2], [2, 4])
    assert still_good(connection)


@pytest.mark.parametrize(
    "results", [(numbers, numbers), (numbers, numbers, numbers, numbers), (numbers, Affected, numbers)]
)
def test_a_number_of_results_other_than_of_selects_is_out_of_step(
    connection: Connection, backend: ScriptedBackend, results: tuple[type | object, ...]
) -> None:
    _, error = together(connection, backend, *(each(2) for each in results))  # type: ignore[operator]
    assert error is not None
    assert (error.kind, error.usable) == ("out_of_step", True)
    assert still_good(connection)


def test_a_result_that_trickles_keeps_the_results_before_it(
    connection: Connection, backend: ScriptedBackend, faults: Faults
) -> None:
    faults.seconds_per_row = 0.1
    given, error = together(
        connection, backend, numbers(1), numbers(5000), numbers(1), seconds=(60.0, 60.0, 1.0)
    )
    assert error is not None
    assert (error.kind, error.usable) == ("deadline", True)
    assert [len(rows) for rows in given] == [1]
    faults.seconds_per_row = 0.0
    assert still_good(connection)


class Fussy(Parrot):
    """Answers what it does not like with an error. Requests with selects are kept, as texts."""

    heard: list[str] = []  # noqa: RUF012  # one for all
    disliked = ""

    def asked(self, kind: int, request: bytes) -> None:
        text = request.decode("ascii", "ignore")
        if "select" in text:
            Fussy.heard.append(text)
        if Fussy.disliked and Fussy.disliked in text:
            wrong = b"select 1 / 0"
            token = struct.pack("<BIB", 0x21, len(wrong) + 1, 0) + wrong
            request = HEADER.pack(kind, EOM, HEADER.size + len(token), 0, 0, 0) + token
        super().asked(kind, request)


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulated]:
    with run("16.0 SP04", speed=0.0) as server:
        yield server


@pytest.fixture
def fussy(simulation: Simulated) -> Iterator[TargetScraper]:
    """A scraper of a Fussy server that has been read once."""

    async def listen() -> tuple[str, int]:
        opened = listening(lambda: Fussy(Recording(simulation.address)))
        stack.append(opened)
        return (await opened.__aenter__())[0]

    stack: list[object] = []
    address = asyncio.run_coroutine_threadsafe(listen(), simulation.loop).result(60)
    Fussy.disliked = ""
    scraper = simulation.scraper(address=address)
    assert not failed(scrape(scraper))
    yield scraper
    scraper.close()
    simulation.drained()


def scrape(scraper: TargetScraper) -> ScrapeResult:
    Fussy.heard.clear()
    return simulated.scrape(scraper, 120)


def failed(result: ScrapeResult) -> dict[str, str]:
    assert not result.summary.error
    assert result.summary.up
    return {name: outcome.reason for name, outcome in result.outcomes.items() if outcome.reason}


def test_collectors_with_few_rows_are_read_in_one_round_trip(fussy: TargetScraper) -> None:
    first = scrape(fussy)
    assert not failed(first)
    assert len(Fussy.heard) == 1
    assert len(first.outcomes) > 20


def test_a_failing_collector_costs_itself_alone_and_is_read_alone_until_it_recovers(
    fussy: TargetScraper,
) -> None:
    Fussy.disliked = "monDeviceIO"
    assert failed(scrape(fussy)) == {"devices": "query_failed"}
    Fussy.disliked = ""
    assert not failed(scrape(fussy))
    assert len(Fussy.heard) == 2
    assert not failed(scrape(fussy))
    assert len(Fussy.heard) == 1


def test_a_server_that_rejects_batches_gets_one_select_at_a_time(
    fussy: TargetScraper, caplog: pytest.LogCaptureFixture
) -> None:
    Fussy.disliked = "\nselect"
    assert not failed(scrape(fussy))
    assert "batching disabled" in caplog.text
    assert not failed(scrape(fussy))
    assert all("\nselect" not in text for text in Fussy.heard)
