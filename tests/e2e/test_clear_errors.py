"""A refused login on the way to the first sample is one line that shows no password."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulator.tds.running import running

from ase_exporter.demo.ports import HOST
from ase_simulator.model import load_scenario
from ase_simulator.simulation import simulation

EXPORTER = Path(sys.executable).with_name("ase-exporter")


@pytest.mark.e2e
def test_a_wrong_password_is_one_line() -> None:
    (server,) = load_scenario("idle", speed=1)
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        login = {"ASE_HOST": HOST, "ASE_PORT": str(run.port), "ASE_USER": "ase_exporter"}
        right, wrong = (
            subprocess.run(
                [EXPORTER, "probe"],
                env={**os.environ, **login, "ASE_PASSWORD": password},
                capture_output=True,
                text=True,
                timeout=60,
            )
            for password in ("exporter", "wrong")
        )
    assert (right.returncode, right.stderr) == (0, "")
    assert wrong.returncode == 2
    (line,) = wrong.stderr.splitlines()
    assert "refused the login" in line
    assert "wrong" not in line
