"""What is shown of sessions equals the simulator's own truth, over generated loads."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.simulated import scrape, scraper_of
from tests.exporter.top.watching import AUTH, HOST, altered, standing
from tests.simulator.tds.running import Running

from ase_exporter.catalogue.wait_parts import CPU, IDLE, wait_parts
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.sessions.blocking import Link, blocking_trees
from ase_exporter.sessions.session import Session, Snapshot
from ase_exporter.sessions.sources import SESSIONS, waits_of
from ase_simulator.model import SimulatedServer
from ase_simulator.model import processes as model
from ase_simulator.model.processes import Process, process_snapshot
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.tables import TABLES
from ase_simulator.model.waits import classes, events

LOADS, STEP, SEED = 8, 120, 35
IDLE_EVENT = 250
# Every so many loads, the waits of so many sessions are compared.
APART, PICKED = 4, 5
EVENTS = {each.id: classes()[each.wait_class] for each in events()}


def loads() -> list[dict[str, Any]]:
    """Workloads of generated kinds; the last one has most sessions, and many locks."""
    chance = random.Random(SEED)
    found = [
        {
            "users": chance.choice([5, 40, 200, 600]),
            "think_ms": chance.choice([20, 200, 2000]),
            "wait_ms": chance.choice([1, 20, 300]),
            "per_transaction": {"lock_waits": chance.choice([0.0, 0.01, 0.05])},
        }
        for _ in range(LOADS - 1)
    ]
    return [*found, {"users": 2000, "think_ms": 50, "wait_ms": 2000, "per_transaction": {"lock_waits": 0.03}}]


@contextmanager
def server_under_load(directory: Path) -> Iterator[tuple[SimulatedServer, Running, TargetScraper]]:
    """A server whose time the test moves, one step for each load, and a scraper of it."""
    steps = [
        {"name": f"load {number}", "seconds": STEP, "workload": each} for number, each in enumerate(loads())
    ]
    scenario = altered("storm", directory, lambda content: content.update(steps=steps))
    with (
        standing(scenario, seed=SEED) as (server, run),
        closing(scraper_of((HOST, run.port), AUTH, session_interval=0.0)) as scraper,
    ):
        yield server, run, scraper


def snapshot(scraper: TargetScraper, *groups: str) -> Snapshot:
    result = scrape(scraper, 60.0, "none", groups=groups or (SESSIONS,))
    assert result.sessions is not None, result.summary.error
    return result.sessions


def doing(process: Process) -> str:
    return wait_parts().of_session(process.wait_event, EVENTS.get(process.wait_event, ""))


def truth(server: SimulatedServer, run: Running) -> list[Process]:
    """The sessions of users that work, or block others."""
    found = list(run.ask(lambda: process_snapshot(server.world)).users())
    blocking = {each.blocked_by for each in found}
    return [each for each in found if each.wait_event != IDLE_EVENT or each.spid in blocking]


def test_sessions_waits_blockers_and_objects_are_those_of_the_simulator(tmp_path: Path) -> None:
    with server_under_load(tmp_path) as (server, run, scraper):
        for number in range(LOADS):
            # In the middle of its step.
            run.ask(partial(server.world.clock.advance, STEP if number else STEP / 2))
            # The model catches up with its time when a table is read.
            result = scrape(scraper, 60.0, "sessions", groups=(SESSIONS,))
            found, expected = result.sessions, truth(server, run)
            assert found and not found.missing and not found.cut
            # Those of users, without those of the server's other clients.
            shown = {each.spid: each for each in found.sessions if each.spid >= FIRST_USER_SPID}
            # The one whose transaction keeps the log is shown even if it is idle.
            assert {each.spid for each in expected} <= shown.keys()
            assert all(shown[spid].open_seconds for spid in shown.keys() - {each.spid for each in expected})
            for each in expected:
                session = shown[each.spid]
                assert session.doing == doing(each)
                assert session.blocked_by == each.blocked_by
                assert (session.login, session.database) == (each.login, each.database)
                if each.blocked_by:
                    assert session.seconds == each.waiting_s and "row" in session.lock
                if each.table and not each.blocked_by and not session.lock and each.wait_event != IDLE_EVENT:
                    assert session.object == f"{each.table.object.database}..{each.table.object.name}"
            active = [doing(each) for each in expected if each.wait_event != IDLE_EVENT]
            of_users = Counter(each.doing for each in shown.values() if each.active)
            assert of_users == Counter(active)
            # The collector counts what the snapshot lists.
            families = {each.name: dict(each.samples) for each in result.collected["sessions"]}
            counted = {labels[0]: value for labels, value in families["ase_active_sessions"].items() if value}
            assert counted == dict(found.active) and IDLE not in counted
            assert sum(families["ase_program_active_sessions"].values()) == sum(counted.values())
        assert len(expected) > 500, "the last load is the largest"


def test_a_chain_of_two_hundred_is_one_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_MAX_CHAIN", 200)
    with server_under_load(tmp_path) as (server, run, scraper):
        run.ask(partial(server.world.clock.advance, STEP * LOADS - 1))
        trees = blocking_trees(snapshot(scraper).sessions)
        expected = {each.spid: each.blocked_by for each in truth(server, run) if each.blocked_by}
    assert expected == {each.session.spid: each.session.blocked_by for each in trees if each.depth}
    above = {spid: blockers(spid, expected) for spid in expected}
    assert max(each.depth for each in trees) == max(map(len, above.values())) >= 199
    for each in trees:
        assert each.blocks == sum(each.session.spid in chain for chain in above.values())


def blockers(spid: int, blocked_by: dict[int, int]) -> list[int]:
    """The chain of those that a session waits for."""
    found = []
    while spid in blocked_by:
        spid = blocked_by[spid]
        found.append(spid)
    return found


def test_a_running_session_is_cpu_and_a_deadlock_is_shown_once() -> None:
    assert wait_parts().of_session(0, "Process is running") == CPU
    sessions = [Session(1, 1, blocked_by=2, seconds=3), Session(2, 2, blocked_by=1, seconds=9)]
    trees = blocking_trees(sessions)
    assert sorted(each.session.spid for each in trees) == [1, 2]
    assert isinstance(trees[0], Link) and trees[0].blocks == 1


def test_a_blocker_that_was_not_listed_is_shown_by_its_spid() -> None:
    (first, second) = blocking_trees([Session(7, 1, blocked_by=3, seconds=3)])
    assert (first.session.spid, first.blocks, second.session.spid) == (3, 1, 7)


def test_what_one_session_waited_for_is_what_the_server_counts(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    with server_under_load(tmp_path) as (server, run, scraper):
        for number in range(0, LOADS, APART):
            run.ask(partial(server.world.clock.advance, APART * STEP if number else STEP / 2))
            users = range(loads()[number]["users"])
            spids = sorted(FIRST_USER_SPID + each for each in chance.sample(users, PICKED))
            groups = [*map(waits_of, spids)]
            snapshot(scraper, *groups)
            before = {spid: waited(server, run, spid) for spid in spids}
            run.ask(partial(server.world.clock.advance, 5))
            found = snapshot(scraper, *groups)
            assert [each.spid for each in found.waits] == [spid for spid in spids if before[spid]]
            for each in found.waits:
                now = waited(server, run, each.spid)
                since = before[each.spid]
                # The model's counters of one session may fall when the load changes: then the growth is not known.
                grown = [max(0.0, seconds - since.get(event, 0.0)) for event, seconds in now.items()]
                assert each.window and len(each.events) == len(now)
                assert sorted(event.seconds or 0.0 for event in each.events) == sorted(now.values())
                shown = sorted(event.recent or 0.0 for event in each.events)
                assert shown == pytest.approx(sorted(grown), abs=1e-6)
                if number == 0:
                    # The sum is what the server has for the session as a whole, but for waits of system tasks.
                    whole = run.ask(partial(waited_in_all, server, each.spid))
                    assert sum(event.seconds or 0.0 for event in each.events) == pytest.approx(
                        whole, rel=0.05
                    )


def waited(server: SimulatedServer, run: Running, spid: int) -> dict[int, float]:
    """Seconds by number of the event, of the server."""
    rows = run.ask(lambda: [row for row in TABLES["monProcessWaits"](server.world) if row["SPID"] == spid])
    return {row["WaitEventID"]: row["WaitTime"] / 1000 for row in rows if row["Waits"]}


def waited_in_all(server: SimulatedServer, spid: int) -> float:
    (row,) = [each for each in TABLES["monProcessActivity"](server.world) if each["SPID"] == spid]
    return float(str(row["WaitTime"])) / 1000
