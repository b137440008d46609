"""Child processes of the demo end with it, an earlier exit is reported, and their ports are free."""

import os
import socket
import sys
from pathlib import Path

import psutil
import pytest

from ase_simulator.demo.processes import HOST, Ports, Processes
from ase_simulator.usage import UsageError

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_leaving_the_block_stops_every_process(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("one", SLEEP, os.environ)
        processes.start("two", SLEEP, os.environ)
        pids = [processes.pid("one"), processes.pid("two")]
        assert all(psutil.pid_exists(pid) for pid in pids)
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_process_that_ended_by_itself_is_reported_with_its_last_line(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("one", [sys.executable, "-c", "import sys; sys.exit('no such scenario')"], os.environ)
        os.waitid(os.P_PID, processes.pid("one"), os.WEXITED | os.WNOWAIT)
        with pytest.raises(UsageError, match="one ended with code 1: no such scenario"):
            processes.check()


def test_a_missing_program_is_reported_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes, pytest.raises(UsageError, match=r"cannot start one.*make demo"):
        processes.start("one", ["/nowhere/program"], os.environ)


def test_a_busy_port_is_named_with_its_process() -> None:
    with socket.socket() as busy:
        busy.bind((HOST, 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(UsageError, match=rf"port {port} \(for the exporter\) is not free.*--port-base"):
            Ports.from_base(port)


def test_an_invalid_base_is_rejected() -> None:
    for base in (-1, 0, 80, 65530, 70000):
        with pytest.raises(UsageError, match="expected 1024 to"):
            Ports.from_base(base)
