"""The unit tier leaves out what uses servers, programs or browsers, and nothing in it reaches them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import REPOSITORY
from tests.unit_tier import is_outside

FIXTURES = """
from tests.exporter.conftest import closed_port  # noqa: F401
"""
# The rule does not see the modules whose names are put together when the tests run.
TESTS_OF_THE_TIER = """
import importlib
import sys

def test_takes_a_port(closed_port):
    raise AssertionError("runs in the tier")

def test_has_a_driver_that_cannot_connect():
    assert not hasattr(sys.modules["pyo" + "dbc"], "connect")

def test_starts_a_program():
    importlib.import_module("sub" + "process").run(["true"])

def test_listens():
    importlib.import_module("sock" + "et").socket().bind(("127.0.0.1", 0))
"""


def tier(file: Path, option: str = "--unit") -> str:
    """What pytest prints of the tests in a file outside the project that belong to the tier, or that do not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", option]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [*command, "--rootdir", REPOSITORY, "-p", "tests.conftest", file],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("content", "outside"),
    [
        ("import subprocess", True),
        ("def test_it():\n    from socket import socket", True),
        ("from tests.browser import shot", True),
        ("from tests.exporter.simulated import run", True),
        ("from pathlib import Path", False),
        ("from tests.planted import DATABASE", False),
    ],
)
def test_a_file_that_uses_the_outside_is_left_out(tmp_path: Path, content: str, outside: bool) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(content)
    assert is_outside(file) is outside


def test_nothing_outside_is_reached_by_fixtures_or_by_what_slips_through(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FIXTURES)
    file = tmp_path / "test_it.py"
    file.write_text(TESTS_OF_THE_TIER)
    said = tier(file)
    assert "2 failed, 1 passed" in said
    assert "subprocess.Popen: a test of the unit tier uses the outside" in said
    assert "socket.bind: a test of the unit tier uses the outside" in said
    # The others run in the other part of the tests: the one that takes a port, which fails there.
    assert "1 failed, 3 deselected" in tier(file, "--no-unit")
