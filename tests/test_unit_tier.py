"""The unit tier leaves out what uses servers, programs or browsers, and nothing in it reaches them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import REPOSITORY
from tests.unit_tier import TESTS, is_outside

# A test that the rule does not see: the name is put together when it runs.
SLIPS_THROUGH = """
import importlib

def test_it():
    {reach}
"""
TAKES_FIXTURES = """
from tests.exporter.conftest import closed_port, run  # noqa: F401

def test_takes_a_port(closed_port):
    raise AssertionError("runs in the tier")

def test_takes_a_command_line(run):
    pass

def test_has_a_driver_that_cannot_connect():
    import {pyodbc}
    assert not hasattr(pyodbc, "connect")
"""


def tier(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--unit"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [*command, f"--confcutdir={TESTS}", "--rootdir", REPOSITORY, "-p", "tests.conftest", file],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("content", "outside"),
    [
        ("import subprocess", True),
        ("def test_it():\n    from socket import socket", True),
        ("from tests.browser import shot", True),
        ("from tests.exporter.simulated import run", True),
        ("import asyncio\nasyncio.start_server", True),
        ("from pathlib import Path", False),
        ("from tests.planted import DATABASE", False),
    ],
)
def test_a_file_that_uses_the_outside_is_left_out(tmp_path: Path, content: str, outside: bool) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(content)
    assert is_outside(file) is outside


def test_a_test_that_takes_a_fixture_of_a_server_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(TAKES_FIXTURES.format(pyodbc="pyodbc"))
    # The file itself would be outside because of the name.
    file.write_text(file.read_text().replace("import pyodbc", "pyodbc = __import__('sys').modules['pyodbc']"))
    ended = tier(file)
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("reach", "event"),
    [
        ("importlib.import_module('sub' + 'process').run(['true'])", "subprocess.Popen"),
        ("importlib.import_module('sock' + 'et').socket().bind(('127.0.0.1', 0))", "socket.bind"),
    ],
)
def test_a_test_that_slips_through_fails_with_what_it_reached_for(
    tmp_path: Path, reach: str, event: str
) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(SLIPS_THROUGH.format(reach=reach))
    ended = tier(file)
    assert ended.returncode == 1
    assert f"{event}: a test of the unit tier uses the outside" in ended.stdout
