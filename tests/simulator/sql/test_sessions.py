"""Sessions that block each other on client tables, and what the system and monitoring tables show of them."""

import asyncio

import pytest
from tests.simulator.sql.fake import Client

from ase_simulator.model import load_scenario
from ase_simulator.results import Disconnect, Message, Rows
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login
from ase_simulator.sql.session import SqlSession

pytestmark = pytest.mark.anyio


class Sessions:
    """Three sessions of one server: two that work and one that looks. Table tempdb..lk has the rows (1,1), (2,2)."""

    def __init__(self) -> None:
        (self.model,) = load_scenario("idle")
        self.backend = SqlBackend(self.model, [Login("sa", "", roles=list(FULL))])
        self.one, self.two, self.dba = (Client(self.model, backend=self.backend).session for _ in range(3))

    async def ask(self, session: SqlSession, sql: str) -> list[object]:
        """Rows of all result sets, numbers of errors, and Disconnect."""
        found: list[object] = []
        async for result in session.execute(sql):
            if isinstance(result, Rows):
                found += [tuple(row) for row in result.rows]
            elif isinstance(result, Message) and result.severity > 10:
                found.append(result.number)
            elif isinstance(result, Disconnect):
                found.append(Disconnect)
        return found

    async def until_blocked(self, session: SqlSession) -> None:
        """Wait until a session waits for a lock."""
        while session.activity.wait_event != 150:
            await asyncio.sleep(0.005)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def s() -> Sessions:
    sessions = Sessions()
    filled = "create table tempdb..lk (a int, b int) insert tempdb..lk values (1, 1) insert tempdb..lk values (2, 2)"
    await sessions.ask(sessions.dba, filled)
    return sessions


async def test_an_open_transaction_is_seen_in_every_table(s: Sessions) -> None:
    await s.ask(s.one, "begin tran update tempdb..lk set b = 9 where a = 1")
    spid = s.one.spid
    locks = "select LockType, LockLevel, object_name(ObjectID, DBID) from master..monLocks where SPID = {}"
    assert await s.ask(s.dba, locks.format(spid)) == [
        ("exclusive intent", "TABLE", "lk"), ("exclusive", "ROW", "lk"),
    ]  # fmt: skip
    assert await s.ask(s.dba, f"select type from master..syslocks where spid = {spid}") == [(3,), (8,)]
    assert await s.ask(s.dba, f"select xactname from master..systransactions where spid = {spid}") == [
        ("$user_transaction",)
    ]
    assert await s.ask(s.dba, f"select name from master..syslogshold where spid = {spid}") == [
        ("$user_transaction",)
    ]
    assert await s.ask(s.dba, f"select tran_name, cmd from master..sysprocesses where spid = {spid}") == [
        ("$user_transaction", "AWAITING COMMAND")
    ]
    await s.ask(s.one, "commit set clientapplname 'billing'")
    tables = f"master..sysprocesses, master..monProcess where spid = {spid} and SPID = spid"
    named = f"select clientapplname, ClientApplName from {tables}"
    assert await s.ask(s.dba, named) == [("billing", "billing")]
    assert await s.ask(s.dba, locks.format(spid)) == []
    changes = "select RowsUpdated from master..monOpenObjectActivity where ObjectName = 'lk'"
    assert await s.ask(s.dba, changes) == [(1,)]


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_a_reader_waits_for_a_writer_and_is_seen_waiting(s: Sessions, end: str) -> None:
    await s.ask(s.one, "begin tran update tempdb..lk set b = 9 where a = 1")
    reading = asyncio.create_task(s.ask(s.two, "select b from tempdb..lk order by a"))
    await s.until_blocked(s.two)
    blocked = f"select blocked, status from master..sysprocesses where spid = {s.two.spid}"
    assert await s.ask(s.dba, blocked) == [(s.one.spid, "lock sleep  ")]
    process = f"select BlockingSPID, WaitEventID from master..monProcess where SPID = {s.two.spid}"
    assert await s.ask(s.dba, process) == [(s.one.spid, 150)]
    states = "select SPID, BlockedState from master..monLocks where BlockedState <> '' order by SPID"
    assert await s.ask(s.dba, states) == [(s.one.spid, "Blocking"), (s.two.spid, "Blocked")]
    dirty = "set transaction isolation level 0 select b from tempdb..lk order by a"
    assert await s.ask(s.dba, dirty) == [(9,), (2,)]
    dirty = (
        "set transaction isolation level 1 select b from tempdb..lk where a = 1 at isolation read uncommitted"
    )
    assert await s.ask(s.dba, dirty) == [(9,)]
    await s.ask(s.one, end)
    assert await reading == [(9 if end == "commit" else 1,), (2,)]
    waits = f"select Waits from master..monProcessWaits where SPID = {s.two.spid} and WaitEventID = 150"
    assert await s.ask(s.dba, waits) == [(1,)]


async def test_of_two_that_wait_for_each_other_one_gets_1205_and_loses_its_transaction(s: Sessions) -> None:
    await s.ask(s.one, "begin tran update tempdb..lk set b = 5 where a = 1")
    await s.ask(s.two, "begin tran update tempdb..lk set b = 5 where a = 2")
    waiting = asyncio.create_task(s.ask(s.one, "update tempdb..lk set b = 6 where a = 2"))
    await s.until_blocked(s.one)
    assert await s.ask(s.two, "update tempdb..lk set b = 6 where a = 1 select 'never'") == [1205]
    assert await waiting == []
    assert await s.ask(s.two, "select @@trancount") == [(0,)]
    await s.ask(s.one, "commit")
    assert await s.ask(s.two, "select a, b from tempdb..lk order by a") == [(1, 5), (2, 6)]


async def test_kill_ends_a_session_and_gives_back_its_locks(s: Sessions) -> None:
    await s.ask(s.one, "begin tran update tempdb..lk set b = 9")
    waiting = asyncio.create_task(s.ask(s.two, "update tempdb..lk set b = 7"))
    await s.until_blocked(s.two)
    await s.ask(s.dba, f"kill {s.two.spid}")
    assert await waiting == [Disconnect]
    await s.ask(s.dba, f"kill {s.one.spid}")
    assert await s.ask(s.one, "select 1") == [Disconnect]
    count = f"select count(*) from master..sysprocesses where spid in ({s.one.spid}, {s.two.spid})"
    assert await s.ask(s.dba, count) == [(0,)]
    assert await s.ask(s.dba, "select a, b from tempdb..lk order by a") == [(1, 1), (2, 2)]


async def test_no_session_is_held_up_by_one_that_changes_tables_while_another_reads(s: Sessions) -> None:
    table = s.backend.shared.permanent.find("tempdb", "lk")
    assert table is not None
    reading = s.two.engine.run(f"SELECT c0 FROM {table.handle}")
    assert next(reading) == (1,)
    assert await s.ask(s.one, "drop table tempdb..lk select * from tempdb..lk") == [208]
    creating = asyncio.create_task(s.ask(s.one, "create table tempdb..lk (b int)"))
    assert await s.ask(s.dba, "select 1") == [(1,)]
    assert not creating.done()
    assert list(reading) == [(2,)]
    assert await creating == []


async def test_what_is_not_simulated_is_refused_and_counted(s: Sessions) -> None:
    assert await s.ask(s.one, "exec sp_addsegment 'a' select 1") == [20999, (1,)]
    assert s.model.faults.refused == {"sp_addsegment": 1}
    s.model.faults.strict = True
    assert await s.ask(s.one, "exec sp_addsegment 'a' select 1") == [20999]
