"""perf as a child: what it counts, what keeps it from counting, and that it is never left behind."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pydantic import TypeAdapter, ValidationError
from tests.exporter.host.kernels import lay, process
from tests.exporter.host.perf_stand_in import StandIn, wait

from ase_exporter.host import perf_child
from ase_exporter.host.config import Perf
from ase_exporter.host.perf import PerfCollector
from ase_exporter.host.perf_child import Tallies
from ase_exporter.host.perf_output import parse_count
from ase_exporter.host.perf_profiles import choose

BROADWELL = "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 79\nmodel name : Xeon\n"


def counted(seconds: float) -> Callable[[Tallies], bool]:
    return lambda tallies: tallies.counted_seconds >= seconds and tallies.events["cycles"].counting


@pytest.mark.parametrize(
    ("line", "event", "value", "running"),
    [
        ("     1.001067719,50763,,page-faults,2002472831,100.00,25.350,K/sec", "page-faults", 50763, 1),
        ("     2.5,800,,cycles,1000,25.50,,", "cycles", 800, 0.255),
        (
            "     1.0,2011.4,msec,task-clock,2011415596,100.00,2.011,CPUs utilized",
            "task-clock",
            2.0114,
            1,
        ),
        ("     0.500564492,<not counted>,,page-faults,0,100.00,,", "page-faults", None, 0),
        ("     1.001067719,<not supported>,,dTLB-load-misses,0,100.00,,", "dTLB-load-misses", None, 0),
    ],
)
def test_a_line_of_perf_is_read(line: str, event: str, value: float | None, running: float) -> None:
    count = parse_count(line)
    assert count is not None
    assert (count.event, count.value, count.running) == (event, pytest.approx(value), running)


@pytest.mark.parametrize(
    "line", ["", "Error:", "a,b,c,d,e,f", "event syntax error: 'cpu/a=1,b=2,c=3,d=4,e/'"]
)
def test_prose_is_no_count(line: str) -> None:
    assert parse_count(line) is None


def test_counts_only_grow_over_intervals_and_restarts(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf_child, "_FIRST_WAIT", 0.01)
    stand_in.play("1.0,100,,cycles,1,100.00,,", "2.0,50,,cycles,1,100.00,,", "EXIT 1", run=0)
    stand_in.play("1.5,7,,cycles,1,100.00,,", "1.5,3,,page-faults:u,1,100.00,,")
    seen = wait(stand_in.collector(), lambda t: t.events["page-faults"].counting)
    assert seen["dbhost_perf_events_total{cycles}"] == 157
    assert seen["dbhost_perf_events_total{page-faults}"] == 3
    assert seen["dbhost_perf_counted_seconds_total"] == 3.5
    assert seen["dbhost_perf_starts_total"] == 2
    assert seen["dbhost_perf_up"] == 1


def test_multiplexing_and_its_share_are_shown(stand_in: StandIn) -> None:
    stand_in.play("1.0,800,,dTLB-loads,1,25.00,,", "1.0,100,,cycles,1,100.00,,")
    seen = wait(stand_in.collector(), counted(1))
    assert seen["dbhost_perf_events_total{dTLB-loads}"] == 800
    assert seen["dbhost_perf_running_ratio{dTLB-loads}"] == 0.25
    assert seen["dbhost_perf_running_ratio{cycles}"] == 1


def test_events_that_are_not_counted_say_why(stand_in: StandIn) -> None:
    stand_in.play(
        "1.0,<not supported>,,dTLB-loads,0,100.00,,",
        "1.0,<not counted>,,instructions,0,100.00,,",
        "1.0,100,,cycles,1,100.00,,",
    )
    seen = wait(stand_in.collector(), counted(1))
    reasons = {name.split("{")[1].split(",")[0]: name for name in seen if "event_problem" in name}
    assert reasons["dTLB-loads"].endswith(",not_supported}")
    assert reasons["instructions"].endswith(",not_counted}")
    assert "cycles" not in reasons
    assert seen["dbhost_perf_event_counting{dTLB-loads}"] == 0
    assert "dbhost_perf_events_total{dTLB-loads}" not in seen


@pytest.mark.parametrize(
    ("level", "reason"), [("2", "paranoid"), ("-1", "no_permission")], ids=["paranoid", "no_permission"]
)
def test_a_lack_of_rights_is_told_with_its_cause(stand_in: StandIn, level: str, reason: str) -> None:
    stand_in.play("Error:", "Access to performance monitoring is limited.", "EXIT 255")
    collector = stand_in.collector(proc__sys__kernel__perf_event_paranoid=f"{level}\n")
    seen = wait(collector, lambda tallies: tallies.problem is not None)
    (problem,) = (name for name in seen if name.startswith("dbhost_perf_problem"))
    assert problem.endswith(f",{reason}}}")
    assert "CAP_PERFMON" in problem
    assert seen["dbhost_perf_up"] == 0
    assert seen["dbhost_perf_event_paranoid"] == int(level)


def test_a_missing_perf_is_told(tmp_path: Path) -> None:
    collector = PerfCollector(Perf(binary=str(tmp_path / "perf")), "/proc", "/sys")
    list(collector.collect())
    try:
        seen = wait(collector, lambda tallies: tallies.problem is not None)
    finally:
        collector.close()
    (problem,) = (name for name in seen if name.startswith("dbhost_perf_problem"))
    assert "install perf" in problem
    assert problem.endswith(",no_binary}")


def test_an_event_that_perf_refuses_costs_only_itself(stand_in: StandIn) -> None:
    stand_in.play(
        "event syntax error: 'tlb:tlb_flush'", r"  \___ can't access trace events", "EXIT 129", run=0
    )
    stand_in.play("event syntax error: 'cycles'", r"   \___ parser error", "EXIT 129", run=1)
    stand_in.play("1.0,5,,page-faults,1,100.00,,")
    seen = wait(stand_in.collector(), lambda tallies: tallies.events["page-faults"].counting)
    reasons = {name.split("{")[1].split(",")[0]: name for name in seen if "event_problem" in name}
    assert reasons["tlb:tlb_flush"].endswith(",no_permission}")
    assert reasons["cycles"].endswith(",unknown_event}")
    assert seen["dbhost_perf_events_total{page-faults}"] == 5
    assert "cycles" not in (stand_in.root / "arguments").read_text().split("\n")


def test_restarts_back_off(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_child, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(perf_child, "_LONGEST_WAIT", 0.05)
    stand_in.play("something is broken", "EXIT 1")
    collector = stand_in.collector()
    waits: list[float] = []
    event = collector.child._stop
    original = event.wait
    monkeypatch.setattr(event, "wait", lambda seconds: (waits.append(seconds), original(seconds))[1])
    seen = wait(collector, lambda tallies: tallies.starts >= 6)
    collector.close()
    assert waits == sorted(waits)
    assert waits[-1] == 0.05
    (problem,) = (name for name in seen if name.startswith("dbhost_perf_problem"))
    assert "something is broken,failed" in problem


def test_closing_ends_perf(stand_in: StandIn) -> None:
    stand_in.play("1.0,100,,cycles,1,100.00,,")
    collector = stand_in.collector()
    wait(collector, counted(1))
    process = collector.child._process
    assert process is not None
    collector.close()
    collector.close()
    assert process.returncode == 0


def test_a_perf_that_does_not_listen_is_killed(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_child, "_GRACE", 0.1)
    stand_in.play("1.0,100,,cycles,1,100.00,,", "DEAF")
    collector = stand_in.collector()
    wait(collector, counted(1))
    process = collector.child._process
    assert process is not None
    collector.close()
    assert process.returncode == -signal.SIGKILL


def test_the_cpu_chooses_the_profile(tmp_path: Path) -> None:
    procfs, sysfs = lay(tmp_path, {"proc/cpuinfo": BROADWELL})
    events = choose("auto", {}, procfs, sysfs)
    assert events.profile == "broadwell"
    assert events.expressions["d-cycles-waited"] == "cpu/event=0x08,umask=0x10,name=d-cycles-waited/"
    assert events.expressions["i-cycles-waited"] == "cpu/event=0x85,umask=0x10,name=i-cycles-waited/"
    assert events.expressions["d-main-memory-reads"] == "cpu/event=0xbc,umask=0x18,name=d-main-memory-reads/"
    assert events.expressions["i-main-memory-reads"] == "cpu/event=0xbc,umask=0x28,name=i-main-memory-reads/"


def test_another_cpu_counts_what_its_kernel_names(tmp_path: Path) -> None:
    procfs, sysfs = lay(
        tmp_path,
        {
            "proc/cpuinfo": BROADWELL.replace("GenuineIntel", "AuthenticAMD"),
            "sys/bus/event_source/devices/cpu/events/stalled-cycles-backend": "event=0x87\n",
        },
    )
    events = choose("auto", {"mine": "cpu/event=0x1/"}, procfs, sysfs)
    assert events.profile == "kernel"
    raw = {name for name, text in events.expressions.items() if text.startswith("cpu/")}
    assert raw == {"stalled-cycles-backend", "mine"}
    assert "d-cycles-waited" in choose("broadwell", {}, procfs, sysfs).expressions


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected one of auto, kernel, broadwell"):
        TypeAdapter(Perf).validate_python({"profile": "pentium"})


def test_one_server_may_be_counted_alone(tmp_path: Path) -> None:
    files = {**process(20, "postgres", 1, "postgres -D /d"), **process(21, "postgres", 20)}
    procfs, sysfs = lay(tmp_path, files)
    command = PerfCollector(Perf(server="/d"), procfs, sysfs)._command(["cycles"])
    assert isinstance(command, list)
    assert command[command.index("-p") + 1] == "20,21"
    assert "-a" not in command


def test_a_server_that_does_not_run_is_told(stand_in: StandIn) -> None:
    collector = PerfCollector(Perf(server="GONE"), *lay(stand_in.root, process(5, "sh")))
    stand_in.collectors.append(collector)
    list(collector.collect())
    seen = wait(collector, lambda tallies: tallies.problem is not None)
    (problem,) = (name for name in seen if name.startswith("dbhost_perf_problem"))
    assert problem.endswith(",no_process}")


@pytest.fixture
def real_perf() -> str:
    """The real perf, where it is there and may count the whole machine."""
    binary = shutil.which("perf")
    if binary is None:
        pytest.skip("needs perf (Debian: linux-perf)")
    tried = subprocess.run([binary, "stat", "-a", "-e", "page-faults", "--", "true"], capture_output=True)
    if tried.returncode != 0:
        pytest.skip("perf may not count the whole machine here (needs root or CAP_PERFMON)")
    return binary


def test_the_real_kernel_counts_software_events(real_perf: str) -> None:
    collector = PerfCollector(Perf(binary=real_perf, interval=0.1), "/proc", "/sys")
    try:
        list(collector.collect())
        seen = wait(collector, lambda tallies: tallies.counted_seconds > 0.2)
    finally:
        collector.close()
    assert seen["dbhost_perf_events_total{page-faults}"] > 0
    assert seen["dbhost_perf_events_total{context-switches}"] > 0
    reasons = {name.split("{")[1].split(",")[0]: name for name in seen if "event_problem" in name}
    if "tlb:tlb_flush" not in reasons:
        assert seen["dbhost_perf_event_counting{tlb:tlb_flush}"] == 1
    for event in ("dTLB-loads", "instructions", "cycles"):
        if seen[f"dbhost_perf_event_counting{{{event}}}"] == 0:
            assert reasons[event].endswith(("not_supported}", "not_counted}", "unknown_event}"))


def test_perf_ends_though_its_exporter_is_killed(real_perf: str) -> None:
    program = (
        "from ase_exporter.host.perf import PerfCollector\n"
        "from ase_exporter.host.config import Perf\n"
        f"collector = PerfCollector(Perf(binary={real_perf!r}, interval=0.1), '/proc', '/sys')\n"
        "list(collector.collect())\n"
        "tallies = collector.child.tallies\n"
        "with tallies.changed:\n"
        "    tallies.changed.wait_for(lambda: tallies.counted_seconds > 0)\n"
        "print('counting', flush=True)\n"
        "input()\n"
    )
    exporter = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert exporter.stdout is not None and exporter.stdin is not None
    assert exporter.stdout.readline() == "counting\n"
    children = psutil.Process(exporter.pid).children(recursive=True)
    assert {child.name() for child in children} >= {"perf", "cat"}
    exporter.send_signal(signal.SIGKILL)
    exporter.wait()
    exporter.stdin.close()
    exporter.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
