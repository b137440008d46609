"""The process collector on handwritten /proc files."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.host.kernels import DATASERVER, KERNELS, Files, process, settled, values, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.config.host import DEFAULT_PROCESSES, Collectors, HostConfig, ProcessGroup
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.process import ProcessCollector, parse_memlock
from ase_exporter.host.process_finder import MAX_NAME, find_servers, parse_stat
from ase_exporter.host.process_totals import ProcessTotals
from ase_exporter.host.smaps import SmapsReader

CASES = load_yaml(Path(__file__).with_name("processes.yaml").read_text())
MIB = 1024**2


def test_a_process_name_may_hold_parentheses() -> None:
    stat = parse_stat("7 (a) b (c) S 3 0 0 0 -1 0 5 0 6 0 100 200 0 0 20 0 4 0 999 0 0")
    assert stat == (3, 999, (100, 200, 5, 6))


def test_processes_that_seem_to_descend_from_each_other_are_found_all_the_same(tmp_path: Path) -> None:
    made = [process(*pids, "dataserver -sONE") for pids in ((20, "dataserver", 21), (21, "dataserver", 20))]
    procfs = write_files(tmp_path, {**made[0], **made[1]})[0]
    assert [len(each.stats) for each in find_servers(str(procfs), DEFAULT_PROCESSES)] == [2]


@pytest.mark.parametrize(("argument", "name"), [("A\x1b[31m", r"A\x1b[31m"), ("B" * 5000, "B" * MAX_NAME)])
def test_the_name_of_a_server_is_short_and_printable(tmp_path: Path, argument: str, name: str) -> None:
    procfs = write_files(tmp_path, process(20, "dataserver", command=f"dataserver -s{argument}"))[0]
    assert [each.key.server for each in find_servers(str(procfs), DEFAULT_PROCESSES)] == [name]


def test_an_unlimited_memlock_is_infinite() -> None:
    assert parse_memlock("Max locked memory   8388608   unlimited   bytes\n") == (8388608, math.inf)
    assert parse_memlock("Max processes   1   1   processes\n") is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_servers_and_their_metrics(tmp_path: Path, case: dict[str, Any]) -> None:
    files = dict(KERNELS[case["kernel"]]) if "kernel" in case else {}
    for each in case.get("processes", ()):
        files.update(process(**each))
    collector = ProcessCollector(write_files(tmp_path, files)[0], DEFAULT_PROCESSES, smaps_interval=300)
    list(collector.collect())
    collector.wait()
    seen = values(collector.collect())
    assert {name: seen.get(name) for name in case["values"]} == case["values"]
    counts = {name for name in seen if name.startswith("dbhost_process_count")}
    assert counts <= case["values"].keys()
    if "kernel" in case:
        assert collector.servers[0].mapped == {2 * MIB: 128 * MIB}


def test_smaps_is_not_read_without_an_interval(tmp_path: Path) -> None:
    seen = values(ProcessCollector(write_files(tmp_path, DATASERVER)[0], DEFAULT_PROCESSES, 0).collect())
    assert seen and not any("smaps" in name for name in seen)


TICK = 0.01
CPU = "dbhost_process_cpu_seconds_total{ase,user,ASE1}"


def boot(seconds: int, name: str = "one") -> Files:
    """A kernel that has been up for so long."""
    return {"proc/uptime": f"{seconds}.00 9.00\n", "proc/sys/kernel/random/boot_id": f"{name}\n"}


def server(pid: int, user: int, start: int = 100) -> Files:
    return process(pid, "dataserver", 1, "dataserver -sASE1", user=user, start=start)


def end(root: Path, pid: int) -> None:
    shutil.rmtree(root / f"proc/{pid}")


def counted(root: Path, totals: ProcessTotals, files: Files) -> float | None:
    """CPU seconds of ASE1 in the next reading of another collector, in ticks."""
    procfs, _ = write_files(root, files)
    try:
        seen = values(ProcessCollector(procfs, DEFAULT_PROCESSES, 0, totals).collect())
    except NotOfferedError:
        return None
    return round(seen[CPU] / TICK)


def test_totals_of_processes_start_at_0_and_never_fall(tmp_path: Path) -> None:
    totals = ProcessTotals()
    child = process(21, "dataserver", 20, user=900, start=200)
    assert counted(tmp_path, totals, {**boot(100), **server(20, 100), **child}) == 0
    end(tmp_path, 21)
    assert counted(tmp_path, totals, {**boot(115), **server(20, 130)}) == 30
    # Its pid is used again by a process that has started since.
    child = process(21, "dataserver", 20, user=5, start=12000)
    assert counted(tmp_path, totals, {**boot(130), **child}) == 35
    # One that was there before, but was not seen, has a past that is not known.
    child = process(22, "dataserver", 20, user=5000, start=300)
    assert counted(tmp_path, totals, {**boot(145), **child}) == 35
    end(tmp_path, 20)
    end(tmp_path, 21)
    end(tmp_path, 22)
    assert counted(tmp_path, totals, boot(160)) is None
    assert counted(tmp_path, totals, {**boot(175), **server(30, 7, 17000)}) == 42


def test_totals_of_processes_survive_the_exporter_and_the_machine(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    assert counted(tmp_path, ProcessTotals(state), {**boot(100), **server(20, 100)}) == 0
    assert counted(tmp_path, ProcessTotals(state), {**boot(115), **server(20, 130)}) == 30
    assert counted(tmp_path, ProcessTotals(state), {**boot(50, "two"), **server(20, 12)}) == 42


@pytest.mark.parametrize("content", [b"", b"\x80", b"garbage"])
def test_damaged_totals_of_processes_start_again(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "host.totals").write_bytes(content)
    assert counted(tmp_path, ProcessTotals(state), {**boot(100), **server(20, 100)}) == 0
    assert "restart at 0" in caplog.text
    assert counted(tmp_path, ProcessTotals(state), {**boot(115), **server(20, 130)}) == 30


def test_configured_processes_replace_those_of_ase(tmp_path: Path) -> None:
    procfs, _ = write_files(tmp_path, {**DATASERVER, **process(12, "mydbd", command="mydbd --name=ONE")})
    own = ProcessGroup(database="mydb", name="mydbd", server=r"--name=(\S+)")
    assert [server.key for server in find_servers(procfs, (own,))] == [("mydb", "ONE")]


def test_a_reused_pid_is_dropped(tmp_path: Path) -> None:
    procfs, _ = write_files(tmp_path, DATASERVER)
    assert len(find_servers(procfs, DEFAULT_PROCESSES)) == 1
    write_files(tmp_path, process(11, "bash", start=5000))
    assert find_servers(procfs, DEFAULT_PROCESSES) == []


def test_a_missing_database_process_is_reported(tmp_path: Path) -> None:
    procfs, _ = write_files(tmp_path, process(11, "sh"))
    with pytest.raises(NotOfferedError, match="no process matches"):
        list(ProcessCollector(procfs, DEFAULT_PROCESSES, 300).collect())


@pytest.mark.parametrize(
    ("seconds", "asked", "read"),
    [(0.0, (1, 300, 301, 601), [1, 1, 301, 601]), (5.0, (1, 400, 1000, 3000), [1, 1, 1, 3000])],
    ids=["once per interval", "later after a slow read"],
)
def test_smaps_is_read_at_an_interval_and_takes_one_percent_of_a_cpu_at_most(
    tmp_path: Path, seconds: float, asked: tuple[float, ...], read: list[float]
) -> None:
    """seconds: that each reading of the clock takes, so that a read takes as long."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += seconds
        return now

    procfs, _ = write_files(tmp_path, DATASERVER)
    key = find_servers(procfs, DEFAULT_PROCESSES)[0].key
    reader = SmapsReader(procfs, interval=300, clock=clock)
    found = []
    for at in asked:
        now = at
        reader.latest({key: 11})
        reader.wait()
        found.append(reader.latest({key: 11})[key].at)
    assert found == pytest.approx(read, abs=20)


def test_unreadable_smaps_are_reported(tmp_path: Path) -> None:
    procfs, _ = write_files(tmp_path, {k: v for k, v in DATASERVER.items() if "maps" not in k})
    collector = ProcessCollector(procfs, DEFAULT_PROCESSES, smaps_interval=300)
    list(collector.collect())
    collector.wait()
    assert values(collector.collect())["dbhost_process_smaps_readable{ase,ASE1}"] == 0
    assert collector.servers[0].mapped is None


def test_smaps_that_cannot_be_parsed_do_not_affect_other_metrics(tmp_path: Path) -> None:
    write_files(
        tmp_path, {**DATASERVER, "proc/11/numa_maps": "00400000 default N0=many kernelpagesize_kB=4\n"}
    )
    host = HostCollectors(
        HostConfig(procfs=tmp_path / "proc", sysfs=tmp_path / "sys", collectors=Collectors(process=True))
    )
    seen = settled(host)
    assert seen["dbhost_collector_success{process}"] == 0
    assert seen["dbhost_process_count{ase,ASE1}"] == 1
