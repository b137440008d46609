"""The supervisor with small children, and with an exporter whose driver crashes or hangs."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.exporter.running_exporter import COMMAND, RunningExporter, configuration, exporter
from tests.exporter.simulated import PASSWORD, Simulated
from tests.programs import START, eventually

from ase_exporter.ase.call_record import call_record
from ase_exporter.web.supervisor import PAUSE, Supervisor, waited_for_cpu

# A supervisor that is impatient; its child runs a script, which can show that it works.
SUPERVISE = """
import logging, os, signal, sys, time
from ase_exporter.ase.call_record import call_record
from ase_exporter.web import supervisor
logging.basicConfig(format="%(message)s")
supervisor.HUNG_AFTER = supervisor.STOP_TIMEOUT = 1.0
supervisor.TICK = 0.05
fork = os.fork
def fork_late():
    # On a busy machine the child may work before the supervisor looks.
    if child := fork():
        time.sleep(0.2)
    return child
os.fork = fork_late
def beat():
    call_record.beat()
    print("beat", flush=True)
def serve(legacy):
    exec(sys.argv[1], globals() | {"legacy": legacy})
    os._exit(0)
"""


def supervised(child: str, until: str = "", before: str = "") -> tuple[int, str]:
    """The exit status and the log of a supervisor of that child.

    until: the line after which it is to end. before: what it runs first.
    """
    run = "sys.exit(supervisor.Supervisor(serve).run())"
    command = [sys.executable, "-c", f"{SUPERVISE}{before}{run}", child]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if until and re.search(until, line):
                process.terminate()
                until = ""
        return process.wait(START), "".join(lines)


def test_a_child_that_cannot_start_ends_the_supervisor_with_its_status() -> None:
    assert supervised("sys.exit(2)") == (2, "")


def test_children_that_die_young_are_started_again_with_pauses_that_grow() -> None:
    status, log = supervised("beat(); os.kill(os.getpid(), signal.SIGSEGV)", until="0.8 s")
    assert status == 0
    assert re.findall(r"ended by signal 11; the next one starts in (\S+) s", log) == [
        "0.1",
        "0.2",
        "0.4",
        "0.8",
    ]


def test_a_crash_every_minute_makes_no_pause_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 0.0, []

    class Crashing(Supervisor):
        def _fork(self) -> int:
            return 1

        def _watch(self, child: int, began: float) -> int:
            nonlocal now
            now = (now // 60 + 1) * 60
            return -signal.SIGKILL

        def _await_signal(self, seconds: float) -> int:
            nonlocal now
            now += seconds
            pauses.append(seconds)
            self._stopping = len(pauses) == 10
            return 0

    call_record.beat()
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("signal.pthread_sigmask", lambda how, signals: None)
    Crashing(lambda legacy: sys.exit()).run()
    assert pauses == [PAUSE] * 10


def test_a_child_that_stands_still_is_killed_and_replaced() -> None:
    child = """
beat()
if not legacy.restarts:
    os.kill(os.getpid(), signal.SIGSTOP)
print("second", flush=True)
time.sleep(60)
"""
    status, log = supervised(child, until="second")
    assert status == 0
    assert "hangs and is killed" in log and "ended by signal 9" in log


def test_a_child_that_waits_for_a_processor_is_not_killed() -> None:
    child = """
beat()
time.sleep(3)
print("alive", flush=True)
time.sleep(60)
"""
    # The kernel says so of a child on a machine that has no processor left for it.
    busy = "supervisor.waited_for_cpu = lambda child: time.monotonic()\n"
    status, log = supervised(child, until="alive|hangs", before=busy)
    assert (status, log.splitlines()) == (0, ["beat", "alive"])


def test_the_kernel_says_how_long_a_process_has_waited_for_a_processor() -> None:
    [processor, *_] = os.sched_getaffinity(0)
    endless = f"import os; os.sched_setaffinity(0, [{processor}])\nwhile True: pass"
    rivals = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(2)]
    try:
        eventually("both wait", lambda: all(waited_for_cpu(each.pid) > 0.1 for each in rivals), START)
    finally:
        for each in rivals:
            each.kill()
            each.wait()
    assert waited_for_cpu(rivals[0].pid) == 0


def test_a_reload_that_is_asked_for_during_the_start_waits_until_the_child_handles_it() -> None:
    child = """
os.kill(os.getpid(), signal.SIGHUP)
beat()
signal.signal(signal.SIGHUP, lambda *_: print("reloads", flush=True))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
time.sleep(60)
"""
    assert supervised(child, until="reloads") == (0, "beat\nreloads\n")


def test_a_child_that_ignores_the_end_is_killed() -> None:
    child = "signal.signal(signal.SIGTERM, signal.SIG_IGN); beat(); time.sleep(60)"
    assert supervised(child, until="beat")[0] == 0


@pytest.fixture(scope="module")
def crashing(server: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningExporter]:
    """An exporter of two targets; the driver crashes at the login to one, and never returns from that to another."""
    directory = tmp_path_factory.mktemp("crashing")
    (directory / "sitecustomize.py").write_text(
        """
import os, signal, threading, pyodbc
from ase_exporter.ase.timing import TIMING
TIMING.login_stuck_after = 5.0
real = pyodbc.connect
def connect(string, **options):
    if "UID={crashing}" in string:
        signal.raise_signal(signal.SIGSEGV)
    if "UID={stuck}" in string:
        threading.Event().wait()
    return real(string, **options)
pyodbc.connect = connect
"""
    )
    host, port = server.address
    logins = {"default": "monitor", "crashing": "crashing", "stuck": "stuck"}
    auth = {name: {"user": user, "password": PASSWORD} for name, user in logins.items()}
    targets = [{"name": name.upper(), "host": host, "port": port, "auth": name} for name in logins]
    settings = configuration({}, auth=auth, targets=targets)
    with exporter(directory, settings, environment={"PYTHONPATH": str(directory)}) as running:
        yield running


def test_a_target_in_whose_call_the_process_died_twice_is_paused(crashing: RunningExporter) -> None:
    assert "\nase_up 1.0\n" in crashing.get("/probe?target=DEFAULT")
    for _ in range(2):
        with pytest.raises(httpx2.TransportError):
            crashing.get("/probe?target=CRASHING")
        # The next process answers what comes meanwhile.
        assert "\nase_up 1.0\n" in crashing.get("/probe?target=DEFAULT")
    paused = crashing.get("/probe?target=CRASHING")
    assert '\nase_exporter_target_error{reason="paused"} 1.0\n' in paused
    metrics = crashing.get("/metrics")
    assert '\nase_exporter_target_paused{target="CRASHING"} 1.0\n' in metrics
    assert "\nase_exporter_restarts_total 2.0\n" in metrics
    crashing.wait_for("target CRASHING: its scrapes ended the exporter 2 times in a row; tried again in")
    assert "DEFAULT: a call" not in crashing.log


def test_a_driver_that_never_returns_costs_its_target_alone_until_the_process_is_replaced(
    crashing: RunningExporter,
) -> None:
    # Another login to the same address would wait for the one that hangs.
    assert "\nase_up 1.0\n" in crashing.get("/probe?target=DEFAULT")
    before = crashing.processes()[1]
    assert '\nase_exporter_target_error{reason="stuck"} 1.0\n' in crashing.get("/probe?target=STUCK", 3.0)
    assert "\nase_up 1.0\n" in crashing.get("/probe?target=DEFAULT")
    eventually("the process ends", lambda: not before.is_running(), START)
    assert "\nase_up 1.0\n" in crashing.get("/probe?target=DEFAULT")
    crashing.wait_for("target STUCK: a call of the driver was under way when the exporter died")


def test_after_a_crash_a_configuration_that_is_bad_meanwhile_costs_no_scrape(
    server: Simulated, tmp_path: Path
) -> None:
    good = configuration({"ONE": server.address})
    with exporter(tmp_path, good) as running:
        # A first process that ends before it serves has no successor.
        running.get("/-/healthy")
        (tmp_path / "exporter.yml").write_text("targets: [")
        running.processes()[1].kill()
        running.wait_for("ended by signal 9", START)
        assert "\nase_up 1.0\n" in running.get("/probe?target=ONE&collect[]=state")
        assert "\nase_exporter_config_last_reload_successful 0.0\n" in running.get("/metrics")
        (tmp_path / "exporter.yml").write_text(good)
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("configuration loaded")


def test_when_the_exporter_is_killed_no_process_stays(server: Simulated, tmp_path: Path) -> None:
    with exporter(tmp_path, configuration({"ONE": server.address})) as serving:
        assert "ase_up 1.0" in serving.get("/probe?target=ONE&collect[]=state")
        _, child = serving.processes()
        serving.process.kill()
        assert serving.process.wait(60) == -signal.SIGKILL
        _, alive = psutil.wait_procs([child], 60)
        assert not alive


def test_without_a_directory_that_can_be_written_the_state_ends_with_the_exporter_and_its_processes(
    server: Simulated, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    environment = {"STATE_DIRECTORY": str(tmp_path / "file" / "none"), "TMPDIR": str(tmp_path / "temporary")}
    with exporter(tmp_path, "host: {}", program=COMMAND, environment=environment) as running:
        assert "no state directory can be written" in running.log
        [directory] = (tmp_path / "temporary").iterdir()
        assert "\nase_exporter_totals_persistent 0.0\n" in running.get("/metrics")
        _, child = running.processes()
        os.kill(child.pid, signal.SIGKILL)
        assert "\nase_exporter_restarts_total 1.0\n" in running.get("/metrics")
        _, child = running.processes()
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(60) == 0
        _, alive = psutil.wait_procs([child], 60)
        assert not alive
    eventually("the temporary directory is gone", lambda: not directory.exists())
