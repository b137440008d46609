"""Errors on the way to the first sample: one line each, never a traceback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.exporter.running_exporter import RunningExporter
from tests.ports import free_block
from tests.simulator.tds.running import running

from ase_exporter.demo.ports import HOST
from ase_simulator.model import load_scenario
from ase_simulator.simulation import simulation

EXPORTER = str(Path(sys.executable).parent / "ase-exporter")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    (server,) = load_scenario("idle", speed=1)
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        yield run.port


def environment(port: int, password: str = "exporter", **more: str) -> dict[str, str]:
    server = {"ASE_HOST": HOST, "ASE_PORT": str(port), "ASE_USER": "ase_exporter", "ASE_PASSWORD": password}
    return {**os.environ, **server, **more}


def probe(env: dict[str, str], *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [EXPORTER, "probe", *arguments], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr.splitlines()


def test_a_probe_without_errors_exits_with_0(port: int) -> None:
    assert probe(environment(port)) == (0, [])


def test_a_wrong_password_is_one_line(port: int) -> None:
    code, (line,) = probe(environment(port, password="wrong"))
    assert code == 2
    assert "refused the login" in line
    assert "wrong" not in line


def test_a_wrong_port_is_one_line() -> None:
    code, (line,) = probe(environment(free_block(1)))
    assert code == 2
    assert "refused the connection" in line


def test_a_missing_driver_is_one_line(port: int, tmp_path: Path) -> None:
    code, (line,) = probe(environment(port, ODBCSYSINI=str(tmp_path)))
    assert code == 2
    assert "install tdsodbc" in line


def test_an_unreadable_configuration_is_one_line(port: int, tmp_path: Path) -> None:
    code, (line,) = probe(environment(port), f"--config.file={tmp_path / 'absent.yml'}")
    assert code == 2
    assert "absent.yml" in line


def test_a_rejected_login_is_a_down_target_and_not_a_failed_exporter(port: int) -> None:
    process = subprocess.Popen(
        [EXPORTER, "serve", f"--web.listen-address={HOST}:0"],
        env=environment(port, password="wrong"),
        stderr=subprocess.PIPE,
        text=True,
    )
    running = RunningExporter(process)
    try:
        answer = httpx2.get(f"{running.url}/probe?target={HOST}", trust_env=False, timeout=60)
    finally:
        running.stop()
    assert answer.status_code == 200
    assert "\nase_up 0.0\n" in answer.text
    assert 'ase_exporter_target_error{reason="login_failed"} 1.0' in answer.text
