"""The process that reads the configuration."""

import os
import subprocess
import sys
from pathlib import Path


def test_it_ends_quietly_if_the_exporter_has_ended_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text("{}")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        command = [sys.executable, "-P", "-m", "ase_exporter.workers.loading", str(file)]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""
    assert done.returncode != 0
