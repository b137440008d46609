"""sp_sysmon of the simulator: counting, clearing, errors."""

import asyncio
from pathlib import Path

import pytest
from tests.simulator.sql.fake import Client

from ase_exporter.sysmon.metrics import cleared_counters
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_simulator.model.scenario import load_scenario
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Message, ReturnStatus
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

SCENARIO = """
name: small
engines: 4
caches:
  default data cache: {size_kb: 1048576, partitions: 4, pools: {32: 131072}}
  a cache of thirty characters 1: {size_kb: 65536, partitions: 2}
bindings:
  - {cache: a cache of thirty characters 1, database: shop, objects: [orders]}
workload:
  users: 40
  think_ms: 20
  objects:
    - {database: shop, name: orders, reads: 30, writes: 5}
    - {database: shop, name: items, reads: 70, writes: 1}
"""


class Server:
    """A simulated server whose time advances only while a session waits."""

    def __init__(self, folder: Path, version: str) -> None:
        file = folder / "small.yaml"
        file.write_text(SCENARIO)
        server = load_scenario(str(file), speed=0, version=version)[0]
        assert isinstance(server, SimulatedServer)
        self.model = server
        self.model.advance(100)
        self.backend = SqlBackend(server)

    def session(self, user: str = "sa", password: str = "") -> SqlSession:
        return Client(self.model, user, password, self.backend).session

    def run(self, *batches: str, user: str = "sa", password: str = "") -> list[list[Message]]:
        """The messages of concurrent batches, each in a separate session."""
        return asyncio.run(self._run(batches, user, password))

    async def _run(self, batches: tuple[str, ...], user: str, password: str) -> list[list[Message]]:
        tasks = [
            asyncio.ensure_future(self._messages(self.session(user, password), batch)) for batch in batches
        ]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            if self.model.world.clock.sleepers == sum(not task.done() for task in tasks):
                self.model.advance(0.5)
        return [task.result() for task in tasks]

    @staticmethod
    async def _messages(session: SqlSession, batch: str) -> list[Message]:
        found = [result async for result in session.execute(batch)]
        session.close()
        return [result for result in found if isinstance(result, Message)]

    def report(self, batch: str) -> Report:
        return parse("\n".join(message.text for message in self.run(batch)[0]))

    def monitors(self) -> dict[tuple[str, str], int]:
        return {
            (str(row["group_name"]), str(row["field_name"])): int(str(row["value"]))
            for row in self.model.table("sysmonitors")
        }

    def state(self) -> dict[str, object]:
        return dict(next(iter(self.model.table("monState"))))


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path, "16.0 SP04")


@pytest.mark.parametrize(
    ("version", "engines", "sections", "suffix", "clears"),
    [
        ("15.0.3", "Engine Busy Utilization", 19, "_0", False),
        ("15.7 SP110", "Engine Utilization (Tick %)", 19, "", True),
        ("16.0 SP04", "Engine Utilization (Tick %)", 21, "", False),
    ],
)
def test_each_version_prints_a_whole_report_in_its_own_layout_and_clears_by_default_or_not(
    tmp_path: Path, version: str, engines: str, sections: int, suffix: str, clears: bool
) -> None:
    server = Server(tmp_path, version)
    assert {f"spinlock_{kind}{suffix}" for kind in "pws"} <= {group for group, _ in server.monitors()}
    report = server.report("sp_sysmon '00:00:30', noclear")
    kernel = report.sections[0]
    assert report.complete and report.warnings == []
    assert len(report.sections) == sections
    assert [row.label for row in kernel.rows if row.path[:1] == (engines,)][:1] == ["Engine 0"]
    assert cleared_counters(server.report("sp_sysmon '00:00:10', kernel")) is clears


def test_one_section_is_printed_alone_and_noclear_says_since_when_counters_count(server: Server) -> None:
    before = server.monitors()
    report = server.report("sp_sysmon '00:00:10', locks, @option = 'noclear'")
    assert [section.name for section in report.sections] == ["Lock Management"]
    assert report.ended and not report.unread and not report.contradictions
    assert not cleared_counters(report) and report.header.cleared is not None
    assert server.monitors()["access", "xacts"] > before["access", "xacts"]


@pytest.mark.parametrize("batch", ["sp_sysmon '00:00:10', clear", "sp_sysmon '00:00:10', kernel, 'clear'"])
def test_clear_affects_all_sessions(server: Server, batch: str) -> None:
    before = server.monitors()
    report = server.report(batch)
    assert cleared_counters(report) and report.header.cleared is None
    assert server.monitors()["access", "xacts"] < before["access", "xacts"]
    assert server.state()["CountersCleared"] != server.state()["StartDate"]


def test_begin_and_end_sample_report_what_was_between(server: Server) -> None:
    assert server.run("sp_sysmon begin_sample") == [[]]
    server.model.advance(45)
    report = server.report("sp_sysmon end_sample, xactsum")
    assert report.header.interval is not None and report.header.interval.total_seconds() == pytest.approx(
        45, abs=2
    )
    assert [message.number for message in server.run("sp_sysmon end_sample")[0]] == [19374]


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("", 18179),
        ("'1:00'", 18179),
        ("'00:99:00'", 18179),
        ("'00:00:10', nosuchsection", 18534),
        ("'00:00:10', noclear, clear", 19449),
        ("begin_sample, noclear", 19361),
        ("end_sample", 19374),
    ],
)
def test_errors_are_messages_and_a_status(server: Server, arguments: str, number: int) -> None:
    async def results() -> list[object]:
        return [result async for result in server.session().execute(f"exec sp_sysmon {arguments}")]

    found = asyncio.run(results())
    assert [result.number for result in found if isinstance(result, Message)] == [number]
    assert [result.value for result in found if isinstance(result, ReturnStatus)] == [1]


def test_two_concurrent_runs_collide_in_tempdb(server: Server) -> None:
    runs = server.run("sp_sysmon '00:00:10', kernel, noclear", "sp_sysmon '00:00:10', kernel, noclear")
    # Each session has a thread of its own, so either may be the first.
    refused, report = sorted(runs, key=len)
    assert len(report) > 50
    assert [message.number for message in refused] == [17197]


def test_it_needs_sa_role(server: Server) -> None:
    refused = server.run("sp_sysmon '00:00:10'", user="ase_exporter", password="exporter")[0]
    assert 10353 in [message.number for message in refused]


def test_dbcc_monitor_clears_sysmonitors(server: Server) -> None:
    before = server.monitors()
    server.run("dbcc monitor('sample', 'all', 'on') dbcc monitor('clear', 'all', 'on')")
    assert server.monitors()["access", "xacts"] < before["access", "xacts"]
