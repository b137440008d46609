"""The entry point: bad input is one line on stderr and exit code 2, whatever command it is for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run

from ase_exporter.errors import UserError


def test_another_system_than_linux_is_told_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    result = run("top")
    assert (result.returncode, result.stderr) == (
        2,
        "ase-exporter: it needs Linux and its /proc, not darwin: use a virtual machine or a container\n",
    )


def test_each_of_several_problems_is_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> int:
        raise UserError("PROD1: no\x1b[2J\nhost", "PROD2: no such host")

    monkeypatch.setattr("ase_exporter.commands.app.run", failing)
    result = run("check")
    assert (result.returncode, result.stderr) == (
        2,
        "ase-exporter: PROD1: no\\x1b[2J\\nhost\nase-exporter: PROD2: no such host\n",
    )


def test_without_a_command_the_help_is_printed(run: Run) -> None:
    result = run()
    assert result.returncode == 2
    assert "serve" in result.stdout and "check" in result.stdout


def test_what_an_encoding_lacks_is_written_in_ascii_instead_of_an_error(tmp_path: Path) -> None:
    (file := tmp_path / "a…b.yaml").write_text("{}")
    command = [sys.executable, "-m", "ase_exporter", "check", "--offline", "--config.file", str(file)]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    written = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert b"a...b.yaml: 0 targets" in written and written.isascii()
