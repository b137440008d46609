"""Reading sessions: what is missing is said, failures back off, the budget holds, and nobody sees unasked text."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.exporter import simulated
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import PASSWORD, scrape
from tests.programs import eventually

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.config import Auth
from ase_exporter.sessions.reader import RETRY, SessionReader
from ase_exporter.sessions.session import Snapshot, sessions_of
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT, sources, waits_of

FACTS = ServerFacts(parse_version("16.0 SP04"), tables_reason="no_role")
SECRET = "planted7value"


@pytest.fixture(scope="module")
def storm() -> Iterator[simulated.Simulated]:
    with simulated.run("16.0 SP04", "storm") as server:
        yield server


def test_a_login_without_mon_role_sees_what_sysprocesses_has(storm: simulated.Simulated) -> None:
    scraper = storm.scraper(Auth(user="nobody", password=PASSWORD))
    asked = (SESSIONS, STATEMENTS, TEXT, waits_of(77))
    snapshots: list[Snapshot] = []

    def at_work() -> bool:
        """Whether sessions are: a server that has just started has none."""
        snapshots.extend(filter(None, [scrape(scraper, 60.0, "none", groups=asked).sessions]))
        return bool(snapshots[-1].sessions)

    eventually("sessions at work", at_work)
    scraper.close()
    found = snapshots[-1]
    assert {each.doing for each in found.sessions} <= {"cpu", "lock", "run_queue", "idle", "not known"}
    of_tables = {name for name, source in sources().items() if source.table}
    assert set(found.missing) == of_tables and set(found.missing.values()) == {"the login lacks mon_role"}


@pytest.mark.parametrize("version", ["12.5.4", "15.0.3", "15.7 SP138", "16.0 SP04"])
def test_each_version_answers_every_select_that_is_planned(version: str) -> None:
    with simulated.run(version, "storm") as server:
        scraper = server.scraper()
        asked = (SESSIONS, STATEMENTS, waits_of(77))
        found = scrape(scraper, 60.0, "none", groups=asked).sessions
        scraper.close()
    assert found and all(" off" in why or "lacks" in why for why in found.missing.values()), found
    assert "processes" not in found.missing


def test_what_fails_is_left_out_and_tried_less_often() -> None:
    clock, asked = ShiftedClock(), []

    def query(sql: str) -> Sequence[Sequence[Any]]:
        asked.append(sql)
        if "syslogshold where" in sql and sql.startswith("select top 2000 spid, database_id"):
            raise DatabaseError("query_failed", "Msg 1204", 1204, usable=True)
        return []

    reader = SessionReader(0.0, clock.clock)
    for seconds in (0.0, 1.0, 1.0, RETRY):
        clock.ahead += seconds
        assert reader.take(query, FACTS, [SESSIONS]).missing["transactions"] == "query_failed"
    # One failure may be an accident; after two in a row it is left alone for a while.
    assert sum("database_id" in sql for sql in asked) == 3


def test_a_login_that_may_not_read_syslogshold_sees_the_other_sessions(storm: simulated.Simulated) -> None:
    scraper = storm.scraper()
    scrape(scraper, 60.0, "none")
    facts = scraper.facts
    scraper.close()
    assert facts

    def query(sql: str) -> Sequence[Sequence[Any]]:
        if "syslogshold" in sql:
            raise DatabaseError("query_failed", "Msg 229", 229, usable=True)
        row = (9, 1, 150, 5, 7, "sa", "isql", "SELECT", "shop", "h", 1)
        return [row[: len(sql.partition(" from ")[0].split(","))]] if "monProcess where" in sql else []

    found = SessionReader().take(query, facts, [SESSIONS])
    assert [(each.spid, each.doing, each.blocked_by) for each in found.sessions] == [(9, "lock", 7)]
    assert {"processes", "transactions"} <= found.missing.keys() and "system_processes" not in found.missing


def test_an_answer_of_another_shape_costs_its_source_alone() -> None:
    found = SessionReader().take(lambda sql: [(1,)], FACTS, [SESSIONS])
    assert found.sessions == () and found.missing["system_processes"] == "unreadable"


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_none_is_not_known(number: float) -> None:
    row = [7, 1, "lock sleep", number, 8, "app", "orders", "SELECT", "orders", "host"]

    def query(sql: str) -> Sequence[Sequence[Any]]:
        return [row] if "suser_name" in sql else []

    (found,) = SessionReader().take(query, FACTS, [SESSIONS]).sessions
    assert found.seconds is None


def test_a_lost_connection_ends_it() -> None:
    def query(sql: str) -> Sequence[Sequence[Any]]:
        raise DatabaseError("lost", "the connection is gone")

    with pytest.raises(DatabaseError, match="gone"):
        SessionReader().take(query, FACTS, [SESSIONS], math.inf)


def test_callers_within_the_interval_share_a_reading_and_see_no_text_of_others(
    storm: simulated.Simulated,
) -> None:
    clock = ShiftedClock()
    scraper = storm.scraper(clock=clock, session_interval=60.0)
    first = scrape(scraper, 60.0, "none", groups=(SESSIONS, TEXT)).sessions
    second = scrape(scraper, 60.0, "none", groups=(SESSIONS,)).sessions
    clock.ahead += 61.0
    third = scrape(scraper, 60.0, "none", groups=(SESSIONS,)).sessions
    scraper.close()
    assert first and second and third
    assert second == first.without_text() and third.at > first.at
    assert not any(each.text for each in (*second.sessions, *third.sessions))


def test_text_and_names_of_others_are_without_values() -> None:
    process = {
        "SPID": 9, "KPID": 1, "WaitEventID": 0, "SecondsWaiting": None, "BlockingSPID": None, "Login": "a\x1b[2J",
        "Application": f"app password={SECRET}", "Command": "SELECT", "DBName": "d\n", "HostName": None,
    }  # fmt: skip
    texts = [
        {"SPID": 9, "KPID": 1, "BatchID": 1, "LineNumber": 1, "SequenceInLine": number, "SQLText": piece}
        for number, piece in enumerate(("update t set a = 'planted7", "value' where b = 2"))
    ]
    found = sessions_of({"processes": [process], "texts": texts[::-1]}, FACTS)
    (session,) = found
    assert session.text == "update t set a = ? where b = ?" and session.program == "app ..."
    assert (session.login, session.database, session.host) == ("a\\x1b[2J", "d", "")
    assert SECRET not in repr(found)
