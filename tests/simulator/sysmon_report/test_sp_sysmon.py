"""sp_sysmon of the simulator: counting, clearing, errors."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.simulator.model.worlds import one
from tests.simulator.sql.fake import Client

from ase_exporter.sysmon.metrics import cleared_counters
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_simulator.model.scenario import load_scenario
from ase_simulator.results import Message, ReturnStatus

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
        (self.model,) = load_scenario(str(file), speed=0, version=version)
        self.model.sleep = self._sleep  # type: ignore[method-assign]
        self.model.advance(100)
        self.sa = Client(self.model)

    async def _sleep(self, seconds: float) -> None:
        self.model.advance(seconds)

    def report(self, batch: str) -> Report:
        return parse("\n".join(self.sa.printed(batch)))

    def monitors(self) -> dict[tuple[str, str], int]:
        return {
            (str(row["group_name"]), str(row["field_name"])): int(str(row["value"]))
            for row in self.model.table("sysmonitors")
        }


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
    report = server.report("sp_sysmon '01:02:03', locks, @option = 'noclear'")
    assert report.header.interval == timedelta(hours=1, minutes=2, seconds=3)
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
    state = one(server.model, "monState")
    assert state["CountersCleared"] != state["StartDate"]


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("", 18179),
        ("'1:00'", 18179),
        ("'00:99:00'", 18179),
        ("'00:00:10', nosuchsection", 18534),
        ("'00:00:10', noclear, clear", 19449),
        ("begin_sample", 20999),
        ("end_sample", 20999),
    ],
)
def test_errors_are_messages_and_a_status(server: Server, arguments: str, number: int) -> None:
    found = server.sa.results(f"exec sp_sysmon {arguments}")
    assert [result.number for result in found if isinstance(result, Message)] == [number]
    assert [result.value for result in found if isinstance(result, ReturnStatus)] == [1]


def test_it_needs_sa_role(server: Server) -> None:
    other = Client(server.model, "ase_exporter", "exporter", server.sa.backend)
    assert other.errors("sp_sysmon '00:00:10'") == [10353]


def test_dbcc_monitor_clears_sysmonitors(server: Server) -> None:
    before = server.monitors()
    server.sa.results("dbcc monitor('sample', 'all', 'on') dbcc monitor('clear', 'all', 'on')")
    assert server.monitors()["access", "xacts"] < before["access", "xacts"]
