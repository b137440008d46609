"""The perf collector: counts, reasons for not counting, and the end of the child process."""

import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.exporter.host.kernels import write_files
from tests.exporter.host.perf_stand_in import StandIn, wait

from ase_exporter.assets import load_yaml
from ase_exporter.config.host import Perf
from ase_exporter.host import perf
from ase_exporter.host.perf import PerfCollector, choose_profile, parse_count

CASES = load_yaml(Path(__file__).with_name("perf.yaml").read_text())
NAMES = load_yaml(Path(__file__).with_name("perf_names.yaml").read_text())
BROADWELL = "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 79\nmodel name : Xeon\n"


def counted(seconds: float) -> Callable[[PerfCollector], bool]:
    return lambda perf: perf.counted_seconds >= seconds and perf.tallies["cycles"].counting


def reasons(seen: Iterable[str]) -> dict[str, str]:
    """Why events are not counted, by event: the last label value."""
    labels = (name.partition("{")[2].rstrip("}").split(",") for name in seen if "event_problem" in name)
    return {event: reason for event, *_, reason in labels}


def problem(seen: Iterable[str]) -> str:
    """Why nothing is counted: hint and reason."""
    (found,) = (name.partition("{")[2].rstrip("}") for name in seen if name.startswith("dbhost_perf_problem"))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_perf_prints_becomes_counts_and_reasons(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    monkeypatch.setattr(perf, "_RESTART_SECONDS", 0.01)
    *runs, last = case["runs"]
    stand_in.play(*last)
    for run, lines in enumerate(runs):
        stand_in.play(*lines, run=run)
    until = case["until"]
    collector = stand_in.collector(proc__sys__kernel__perf_event_paranoid=f"{case.get('paranoid', 0)}\n")
    seen = wait(
        collector, lambda perf: bool(perf.problem) if until == "problem" else perf.tallies[until].counting
    )
    assert {name: seen.get(name) for name in case["values"]} == case["values"]
    found = {event: why for event, why in reasons(seen).items() if why != "not_printed"}
    assert found == case.get("reasons", {})
    # The scripts print few of the events.
    unprinted = reasons(seen).keys() - found.keys()
    assert unprinted == set(case.get("not_printed", unprinted))
    assert "problem" not in case or re.search(case["problem"], problem(seen))
    refused = [event for event, reason in reasons(seen).items() if reason == "unknown_event"]
    assert not {*refused} & {*(stand_in.root / "arguments").read_text().split("\n")}


@pytest.mark.parametrize("printed", NAMES)
def test_an_event_is_known_by_any_name_that_perf_prints(printed: str) -> None:
    collector = PerfCollector(Perf(), "/proc", "/sys")
    count = parse_count(f"     1.001140372,66026060,,{printed},1000000,99.93,,")
    assert count is not None
    assert (count.event, count.value) == (printed, 66026060)
    collector._add(count, 0.0)
    assert collector.tallies["cycles"].total == 66026060


@pytest.mark.parametrize(
    "line", ["", "Error:", "a,b,c,d,e,f", "1.0,5,,cycles", "# started on Mon, Nov 2, 2026,,,,"]
)
def test_other_lines_are_messages(line: str) -> None:
    assert parse_count(line) is None


def test_a_missing_perf_is_reported(tmp_path: Path) -> None:
    collector = PerfCollector(Perf(binary=str(tmp_path / "perf")), "/proc", "/sys")
    list(collector.collect())
    try:
        seen = wait(collector, lambda perf: perf.problem is not None)
    finally:
        collector.close()
    assert problem(seen).startswith("install perf") and problem(seen).endswith(",no_binary")


def test_perf_is_started_again_a_minute_after_it_ended(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.play("something is broken", "EXIT 1")
    waits: list[float | None] = []

    def wait_and_note(event: threading.Event, seconds: float | None = None) -> bool:
        if threading.current_thread().name != "perf":
            return wait_for(event, seconds)
        waits.append(seconds)
        return wait_for(event, 0.01)

    wait_for = threading.Event.wait
    monkeypatch.setattr(threading.Event, "wait", wait_and_note)
    collector = stand_in.collector()
    seen = wait(collector, lambda perf: perf.starts >= 3)
    collector.close()
    assert waits[:2] == [60, 60]
    assert problem(seen) == "something is broken,failed"


@pytest.mark.parametrize(("deaf", "ended"), [(False, 0), (True, -signal.SIGKILL)], ids=["ends", "deaf"])
def test_closing_ends_perf_and_kills_one_that_does_not_exit(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, deaf: bool, ended: int
) -> None:
    if deaf:
        monkeypatch.setattr(perf, "_EXIT_SECONDS", 0.1)
    stand_in.play("1.0,100,,cycles,1,100.00,,", *(["DEAF"] if deaf else []))
    collector = stand_in.collector()
    wait(collector, counted(1))
    process = collector._process
    assert process is not None
    collector.close()
    collector.close()
    assert process.returncode == ended


def test_the_cpu_chooses_the_profile(tmp_path: Path) -> None:
    procfs, sysfs = write_files(tmp_path, {"proc/cpuinfo": BROADWELL})
    profile, events = choose_profile(procfs, sysfs)
    assert profile == "broadwell"
    for name, code in {
        "d-cycles-waited": "event=0x08,umask=0x10",
        "i-cycles-waited": "event=0x85,umask=0x10",
        "d-main-memory-reads": "event=0xbc,umask=0x18",
        "i-main-memory-reads": "event=0xbc,umask=0x28",
    }.items():
        assert events[name] == f"cpu/{code},name={name}/"


def test_other_cpus_count_the_events_that_the_kernel_names(tmp_path: Path) -> None:
    procfs, sysfs = write_files(
        tmp_path,
        {
            "proc/cpuinfo": BROADWELL.replace("GenuineIntel", "AuthenticAMD"),
            "sys/bus/event_source/devices/cpu/events/stalled-cycles-backend": "event=0x87\n",
        },
    )
    profile, events = choose_profile(procfs, sysfs)
    assert profile == "kernel"
    raw = {name for name, text in events.items() if text.startswith("cpu/")}
    assert raw == {"stalled-cycles-backend"}


@pytest.fixture
def real_perf() -> str:
    """The real perf, if it is installed and may count the whole machine."""
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
        seen = wait(collector, lambda perf: perf.counted_seconds > 0.2)
    finally:
        collector.close()
    assert seen["dbhost_perf_events_total{page-faults}"] > 0
    assert seen["dbhost_perf_events_total{context-switches}"] > 0
    why = reasons(seen)
    if "tlb:tlb_flush" not in why:
        assert seen["dbhost_perf_event_counting{tlb:tlb_flush}"] == 1
    for event in ("dTLB-loads", "instructions", "cycles"):
        if seen[f"dbhost_perf_event_counting{{{event}}}"] == 0:
            assert why[event] in ("not_supported", "not_counted", "unknown_event")


def test_perf_ends_when_the_exporter_is_killed(real_perf: str) -> None:
    program = f"""
from ase_exporter.host.perf import PerfCollector
from ase_exporter.config.host import Perf
collector = PerfCollector(Perf(binary={real_perf!r}, interval=0.1), '/proc', '/sys')
list(collector.collect())
with collector.changed:
    collector.changed.wait_for(lambda: collector.counted_seconds > 0)
print('counting', flush=True)
input()
"""
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
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
