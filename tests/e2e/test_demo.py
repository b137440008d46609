"""`ase-simulator demo` end to end: printed addresses and commands work, and no process is left behind."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.paths import REPOSITORY
from tests.ports import free_block

from ase_simulator.demo.figures import published

SIMULATOR = Path(sys.executable).with_name("ase-simulator")
TIMEOUT = 120
PORTS = 7
WIDE_TERMINAL = os.environ | {"COLUMNS": "160"}

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Demo:
    """A running demo. log: file with its output."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def printed(self, pattern: str) -> list[str]:
        """Return matches in its output; waits for the first."""
        deadline = time.monotonic() + TIMEOUT
        while not (found := re.findall(pattern, self.log.read_text(), re.MULTILINE)):
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    directory = tmp_path_factory.mktemp("demo")
    command: list[str | Path] = [
        SIMULATOR,
        "demo",
        f"--port-base={free_block(PORTS)}",
        f"--directory={directory}",
    ]
    log = directory.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT)
    yield Demo(process, log)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT)


def test_every_printed_address_answers(demo: Demo) -> None:
    demo.printed(r"In another terminal:")
    addresses = demo.printed(r"http://127\.0\.0\.1:\d+\S*$|http://127\.0\.0\.1:\d+\S*(?=\s*$)")
    assert len(addresses) >= 3
    for address in addresses:
        assert httpx2.get(address, trust_env=False, follow_redirects=True).is_success, address


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("advise", "system tables cache"),
        ("changes", "enable mem scale"),
        ("compare", "Transactions per CPU unit"),
    ],
)
def test_every_printed_command_works(demo: Demo, command: str, expected: str) -> None:
    (line,) = demo.printed(rf"^  (\S+ {command} .*)$")
    deadline = time.monotonic() + 3 * TIMEOUT
    while True:
        words = shlex.split(line, comments=True)
        done = subprocess.run(
            words, cwd=REPOSITORY, capture_output=True, text=True, timeout=TIMEOUT, env=WIDE_TERMINAL
        )
        if done.returncode == 0 and expected in done.stdout:
            break
        # The command finds something from a later run on.
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(2)


def test_ctrl_c_stops_all_processes_and_shows_what_was_measured(demo: Demo) -> None:
    demo.printed(r"^series 1 run baseline: config A, no Memscale\n .*\d/85\.8 ")
    started = psutil.Process(demo.process.pid).children(recursive=True)
    assert len(started) >= 4
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(TIMEOUT) == 0
    _, alive = psutil.wait_procs(started, timeout=TIMEOUT)
    assert alive == []
    shown = re.findall(r"^(series \d run \S+):", demo.log.read_text(), re.MULTILINE)
    assert shown == [*published()][: len(shown)]
