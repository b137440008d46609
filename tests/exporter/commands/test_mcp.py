"""`ase-exporter mcp` in a process of its own. tests/deploy/test_packages.py runs it without its SDK."""

import subprocess
import sys


def test_it_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "ase_exporter", "mcp", "--prometheus", "http://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
