"""`ase-exporter demo` as a newcomer runs it: what it prints can be opened and pasted, and it leaves nothing behind."""

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

import httpx
import psutil
import pytest
from tests.ports import free_block

ROOT = Path(__file__).parents[2]
EXPORTER = Path(sys.executable).with_name("ase-exporter")
PATIENCE = 120
PORTS = 7
WIDE = os.environ | {"COLUMNS": "160"}

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Demo:
    """One that runs. log: what it prints, as it comes."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def printed(self, pattern: str) -> list[str]:
        """What it has printed that fits; waits for the first."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.findall(pattern, self.log.read_text(), re.MULTILINE)):
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    directory = tmp_path_factory.mktemp("demo")
    command = [EXPORTER, "demo", f"--port-base={free_block(PORTS)}", f"--directory={directory}"]
    log = directory.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    yield Demo(process, log)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def test_every_address_that_it_prints_answers(demo: Demo) -> None:
    demo.printed(r"In another terminal:")
    addresses = demo.printed(r"http://127\.0\.0\.1:\d+\S*$|http://127\.0\.0\.1:\d+\S*(?=\s*$)")
    assert len(addresses) >= 3
    for address in addresses:
        assert httpx.get(address, trust_env=False, follow_redirects=True).is_success, address


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("advise", "system tables cache"),
        ("changes", "enable mem scale"),
        ("compare", "Transactions per CPU unit"),
    ],
)
def test_every_command_that_it_prints_works_when_pasted(demo: Demo, command: str, told: str) -> None:
    (line,) = demo.printed(rf"^  (\S+ {command} .*)$")
    deadline = time.monotonic() + 3 * PATIENCE
    while True:
        words = shlex.split(line, comments=True)
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, env=WIDE)
        if done.returncode == 0 and told in done.stdout:
            break
        # It says from which run on there is something to see.
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(2)


def test_ctrl_c_ends_all_that_it_started_and_shows_the_runs(demo: Demo) -> None:
    demo.printed(r"In another terminal:")
    started = psutil.Process(demo.process.pid).children(recursive=True)
    assert len(started) >= 5
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(PATIENCE) == 0
    _, alive = psutil.wait_procs(started, timeout=PATIENCE)
    assert alive == []
    assert "Measured by Prometheus" in demo.log.read_text()
