"""A part of a snapshot that is refused or slow is left out alone; no database is entered that is not ready for it."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.exporter.changes.test_detect import option, scripted
from tests.exporter.simulated import Simulated, run, scrape

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.changes.change import from_differences
from ase_exporter.changes.detect import ENTERABLE, MAX_REFUSED, ConfigWatcher
from ase_exporter.changes.snapshot import ConfigSnapshot, Part, compare, decode
from ase_exporter.clock import Clock
from ase_exporter.config import Module
from ase_simulator.model.database_states import DATABASE_STATES

CYCLE, HOUR = 60.0, 3600.0
HEALTHY: dict[str, object] = {"@@version": [("ASE",)], "sysconfigures": [option("max memory", 1, 1)]}


SLOW = DatabaseError("deadline", "too slow", usable=True)
# Part of every statement of a snapshot -> the kinds of changes that are not seen without its answer.
UNSEEN = {
    "sysconfigures": {"option"},
    "ache": {"cache"},
    "ngine": {"engine"},
    "monThreadPool": {"thread_pool"},
    "select name from master..sysdatabases where": {"binding"},
    "master..sysdatabases": {"database", "binding"},
    "@@version": {"version"},
    "@@boottime": {"restart"},
    "CountersCleared": {"counters_cleared"},
    "d.dbid": {"binding"},
    "..sysattributes": {"binding"},
    "orders..sysattributes": {"binding"},
    "ch_events": {"audit trail"},
}


def refused(number: int) -> DatabaseError:
    return DatabaseError("query_failed", "refused", number, usable=True)


class Server:
    """A scripted server on a clock of its own. slow: part of a statement that ends with `error` after `seconds`.

    asked: all statements. closed: databases that refuse the login. entered: each database that was asked for, with
    whether it let us in.
    """

    def __init__(self, databases: Sequence[str] = ()) -> None:
        self.now = 0.0
        self.clock = Clock(monotonic=lambda: self.now, time=lambda: 1e9 + self.now)
        self.watch = ConfigWatcher(CYCLE, self.clock)
        self.answers = dict(HEALTHY)
        self.databases = databases
        self.closed: set[str] = set()
        self.slow, self.seconds, self.spent = "", 3.0, 0.0
        self.error = SLOW
        self.asked: list[str] = []
        self.entered: list[tuple[str, bool]] = []

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        """The answer to a statement."""
        self.asked.append(sql)
        if self.slow and self.slow in sql:
            self.now += self.seconds
            self.spent += self.seconds
            raise self.error
        if sql == ENTERABLE:
            return [(name,) for name in self.databases]
        name, inside, _ = sql.partition("..sysattributes a, ")
        if inside and "master..sysdatabases" not in sql:
            database = name.rpartition(" ")[2]
            self.entered.append((database, database not in self.closed))
            if database in self.closed:
                raise DatabaseError("query_failed", "not a valid user", 916, usable=True)
            return [("orders", None, "orders cache")]
        return scripted(self.answers)(sql)

    def snapshot(self) -> tuple[ConfigSnapshot, dict[str, Part]]:
        """A snapshot and its parts; the next one is due."""
        found = self.watch.take_snapshot(self.query)
        self.now += CYCLE
        return found, decode(found.encoded_parts)


@pytest.mark.parametrize("source", ["sysconfigures", "@@version", "@@boottime", "ch_events", "d.dbid"])
def test_a_slow_source_costs_less_and_less_and_nothing_else(source: str) -> None:
    server = Server(["orders"])
    server.answers |= {"@@boottime": [], "ch_events": []}
    server.slow = source
    for _ in range(24 * 60):
        server.snapshot()
    # Every hour once, after the first ones: 5 minutes, 10, 20, 40.
    assert server.spent <= 30 * server.seconds
    assert len(server.entered) == 24 * 60
    server.slow = ""
    server.now += HOUR
    assert "option" in server.snapshot()[1]


@pytest.mark.parametrize("source", UNSEEN)
@pytest.mark.parametrize("error", [SLOW, refused(10330), refused(10353), refused(208), refused(916)], ids=str)
def test_what_a_source_that_is_slow_or_refused_hides_is_named(source: str, error: DatabaseError) -> None:
    server = Server(["orders"])
    server.slow, server.error = source, error
    # A table that this version lacks, and a database that the login is no user of, are not missing.
    unseen = dict.fromkeys(UNSEEN[source], error) if error.number not in (208, 916) else {}
    for _ in range(10):
        server.snapshot()
        assert server.watch.missing == unseen
    assert all(any(part in sql for part in UNSEEN) for sql in server.asked)
    server.slow = ""
    server.now += 12 * HOUR
    server.snapshot()
    assert server.watch.missing == {}


def test_what_no_time_is_left_for_is_named() -> None:
    server = Server(["orders"])
    server.watch.take_snapshot(server.query, server.now)
    assert server.watch.missing.keys() == set().union(*UNSEEN.values())
    assert {error.kind for error in server.watch.missing.values()} == {"deadline"}


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_databases_that_refuse_are_few_in_each_snapshot_and_cost_the_others_nothing(seed: int) -> None:
    rng = random.Random(seed)
    server = Server([f"db{number}" for number in range(rng.randrange(1, 25))])
    server.closed = {name for name in server.databases if rng.random() < rng.choice((0.1, 0.9, 1.0))}
    for _ in range(6 * 60):
        server.entered.clear()
        server.snapshot()
        assert sum(not let_in for _, let_in in server.entered) <= MAX_REFUSED
    # By now each is known: the open ones are read in each snapshot.
    assert {name for name, let_in in server.entered if let_in} == set(server.databases) - server.closed
    assert server.watch.refused_databases.keys() == server.closed
    refused = 0
    for _ in range(12 * 60):
        server.entered.clear()
        server.snapshot()
        refused += sum(not let_in for _, let_in in server.entered)
    assert refused <= 3 * len(server.closed)
    # A user is added.
    server.closed = set()
    for _ in range(6 * 60 + 70):
        server.snapshot()
    assert server.watch.refused_databases == {}


def test_more_databases_than_one_snapshot_reads_are_read_in_turn() -> None:
    server = Server([f"db{number}" for number in range(450)])
    for _ in range(3):
        server.snapshot()
    assert {name for name, _ in server.entered} == set(server.databases)


@pytest.fixture(scope="module")
def simulated() -> Iterator[Simulated]:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        yield server


@pytest.mark.parametrize("state", sorted(DATABASE_STATES.keys() - {"read only"}))
def test_a_database_that_is_not_ready_is_not_entered(simulated: Simulated, state: str) -> None:
    entered: list[str] = []
    simulated.model.world.database_status = {"orders": DATABASE_STATES[state]}
    with simulated.login("monitor") as query:

        def noted(sql: str) -> Sequence[Sequence[Any]]:
            name, inside, _ = sql.partition("..sysattributes a, ")
            if inside and "master..sysdatabases" not in sql:
                entered.append(name.rpartition(" ")[2])
            return query(sql)

        ConfigWatcher(CYCLE).take_snapshot(noted)
    simulated.model.world.database_status = {}
    assert "master" in entered and not {"orders", "model"} & set(entered)


def test_a_change_while_a_part_was_left_out_is_dated_by_the_last_reading_of_it() -> None:
    server = Server()
    first, old = server.snapshot()
    server.slow = "sysconfigures"
    for _ in range(3):
        late, new = server.snapshot()
        assert "option" not in new
    server.slow = ""
    server.now += HOUR
    server.answers |= {"sysconfigures": [option("max memory", 2, 2)], "@@version": [("ASE 2",)]}
    found, new = server.snapshot()
    dated = from_differences("PROD", compare(old, new), found, not_before=late.at)
    assert {change.kind: change.not_before for change in dated} == {"option": first.at, "version": late.at}


def test_a_target_keeps_its_budget_and_says_what_is_not_seen(simulated: Simulated) -> None:
    module = Module(collectors={"own_session": False})
    target = simulated.scraper(module=module, budget=1e-9, changes_interval=0.0)
    simulated.model.faults.missing_columns = frozenset({"sysconfigures.value2"})
    try:
        results = [scrape(target) for _ in range(3)]
    finally:
        simulated.model.faults.missing_columns = frozenset()
        target.close()
    # The first two scrapes show what it costs.
    assert [result.config_snapshot is not None for result in results] == [True, True, False]
    got = {family.name: dict(family.samples) for family in results[-1].diagnostics}
    assert got["ase_exporter_collector_stretch"]["changes",] > 1
    assert target.watch
    assert got["ase_exporter_changes_statements"] == {(): target.watch.statements}
    assert target.watch.statements > 10
    assert got["ase_exporter_changes_seconds"][()] > 0
    assert got["ase_exporter_changes_unseen"] == {("option", "columns_missing"): 1.0}
    # archive, orders and sybsecurity, of which the login is no user.
    assert got["ase_exporter_changes_databases_refused"] == {(): 3.0}
