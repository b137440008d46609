"""A database that refuses to be opened costs its own free space alone, whatever the server says of it."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import Simulated, reading, run, scrape
from tests.faults import scraping

from ase_exporter.ase.connection import Connection, DatabaseError, Row
from ase_exporter.catalogue import PlannedCollector
from ase_exporter.clock import Clock
from ase_exporter.scraping.refused_databases import FIRST_WAIT, MAX_NEW, RefusedDatabases
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.lookup import space
from ase_simulator.sql.lookup.snapshot import Snapshot

SPACE = PlannedCollector(
    "space", select="select 1 from master..sysdatabases d where d.name not in ('model'{left_out})"
)
OTHER = PlannedCollector("other", select="select 1")


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as simulated:
        yield simulated


@pytest.fixture(scope="module")
def usual(server: Simulated) -> set[str]:
    """The databases whose free space is known while none refuses."""
    return _free(server)[-1]


@pytest.mark.parametrize("seed", range(6))
def test_each_database_that_refuses_costs_its_own_free_space(
    server: Simulated, usual: set[str], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    refusing = set(rng.sample(sorted(usual), rng.randrange(1, MAX_NEW + 1)))
    refuse(monkeypatch, refusing, rng.choice((921, 924, 926, 950)))
    assert _free(server) == [usual - refusing, usual - refusing]


def refuse(monkeypatch: pytest.MonkeyPatch, refusing: set[str], number: int) -> None:
    """Have databases refuse to be opened, with a message."""

    def check(tables: Snapshot, database: int | None) -> None:
        for row in tables.rows("sysdatabases", "dbid", database):
            if row["name"] in refusing:
                raise SqlError(number, row["name"], "ASE2")

    monkeypatch.setattr(space, "_check_available", check)


def test_a_database_that_refuses_does_not_end_batches_and_comes_back_in_one(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, sizes = Connection.query_batch, list[int]()

    def counted(connection: Connection, selects: Sequence[str], limit: Any) -> Iterator[list[Row]]:
        sizes.append(len(selects))
        return batch(connection, selects, limit)

    monkeypatch.setattr(Connection, "query_batch", counted)
    shifted = ShiftedClock()
    target = server.scraper(clock=shifted)
    for refusing, wait, batches in (({"orders"}, 0.0, 2), ({"orders"}, 60.0, 1), (set(), FIRST_WAIT, 1)):
        refuse(monkeypatch, refusing, 969)
        shifted.ahead += wait
        sizes.clear()
        result = scraping.scrape(target, clock=shifted)
        assert (scraping.failed(result), len(sizes)) == ({}, batches)
        families = {family.name: family.samples for family in result.diagnostics}
        assert list(families["ase_exporter_databases_left_out"]) == [((), float(len(refusing)))]
    target.close()


def _free(server: Simulated) -> list[set[str]]:
    """The databases whose free space is known, in two scrapes of a new target."""
    target = server.scraper(module=reading("state", "database_space"))
    found = []
    for _ in range(2):
        result = scrape(target)
        assert not {name: each.reason for name, each in result.outcomes.items() if each.reason}
        (free,) = [
            each for each in result.collected["database_space"] if each.name == "ase_database_free_bytes"
        ]
        found.append({labels[0] for labels, _ in free.samples})
    target.close()
    return found


class Refusing:
    """A server where databases refuse, one at a time as a real one says it. asked: the selects so far."""

    def __init__(self, *databases: str) -> None:
        self.databases = list(databases)
        self.asked: list[str] = []

    def query(self, sql: str) -> list[tuple[int]]:
        self.asked.append(sql)
        for name in self.databases:
            if "'" + name.replace("'", "''") + "'" not in sql:
                text = f"You can access database '{name}' only from its owner instance 'ASE2'."
                raise DatabaseError("query_failed", text, 969, usable=True)
        return [(1,)]


def test_a_database_is_tried_again_later_and_comes_back() -> None:
    now = [0.0]
    refused = RefusedDatabases("PROD", Clock(monotonic=lambda: now[0]))
    server = Refusing("tempdb_ase2", "x'; drop table t --")
    # The name in quotes ends at its own quote: it cannot be left out, and does not get into the select.
    with pytest.raises(DatabaseError):
        refused.ask(SPACE, server.query)
    assert not any("drop" in sql for sql in server.asked)
    del server.databases[1]
    server.asked.clear()
    for _ in range(10):
        assert refused.ask(SPACE, server.query) == [(1,)]
    assert len(server.asked) == 10 and refused.reasons.keys() >= {"tempdb_ase2"}
    now[0] += FIRST_WAIT
    server.databases.clear()
    refused.ask(SPACE, server.query)
    assert server.asked[-1] == SPACE.statement and refused.reasons == {}


def test_other_errors_and_other_selects_are_left_alone() -> None:
    refused = RefusedDatabases("PROD")
    for collector, number, usable in ((SPACE, 208, True), (SPACE, 969, False), (OTHER, 969, True)):

        def query(_: str, number: int = number, usable: bool = usable) -> None:
            raise DatabaseError("query_failed", "database 'a'", number, usable=usable)

        with pytest.raises(DatabaseError):
            refused.ask(collector, query)
    assert refused.reasons == {}
