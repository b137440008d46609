"""`ase-simulator demo` end to end: printed addresses and commands work, and no process is left behind."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.ports import free_block
from tests.programs import START, eventually, running

from ase_simulator.demo.figures import published

SIMULATOR = Path(sys.executable).with_name("ase-simulator")
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
        found: list[str] = []

        def is_there() -> bool:
            found[:] = re.findall(pattern, self.log.read_text(), re.MULTILINE)
            assert found or self.process.poll() is None, self.log.read_text()
            return bool(found)

        eventually(pattern, is_there, START)
        return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    directory = tmp_path_factory.mktemp("demo")
    log = directory.with_suffix(".log")
    options = [f"--port-base={free_block(PORTS)}", f"--directory={directory}"]
    with running(log, SIMULATOR, "demo", *options) as process:
        yield Demo(process, log)


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

    def works() -> bool:
        done = subprocess.run(
            shlex.split(line, comments=True), capture_output=True, text=True, env=WIDE_TERMINAL
        )
        return done.returncode == 0 and expected in done.stdout

    # The command finds something from a later run on.
    eventually(f"{line} says {expected}", works, 3 * START, every=2)


def test_ctrl_c_stops_all_processes_and_shows_what_was_measured(demo: Demo) -> None:
    demo.printed(r"^series 1 run baseline: config A, no Memscale\n .*\d/85\.8 ")
    started = psutil.Process(demo.process.pid).children(recursive=True)
    assert len(started) >= 4
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(START) == 0
    _, alive = psutil.wait_procs(started, timeout=START)
    assert alive == []
    shown = re.findall(r"^(series \d run \S+):", demo.log.read_text(), re.MULTILINE)
    assert shown == [*published()][: len(shown)]
