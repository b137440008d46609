"""The unit tier, `pytest --unit`: tests that use no server, program or browser, by a rule.

A test belongs to the tier if neither its file nor that of a fixture that it takes uses a module of OUTSIDE, directly or
through other modules of the tests. Nothing in the tier can open a connection or start a process: a test that tries
fails, which shows that the rule missed it. pyodbc cannot be imported without unixODBC, so the tier has a stand-in that
cannot connect, on every machine.
"""

import importlib.util
import os
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.paths import REPOSITORY

OUTSIDE = frozenset(
    {
        "ase_simulator.demo",
        "ase_exporter.host.collectors",
        "ase_exporter.host.perf",
        "ase_simulator.server",
        "http.server",
        "multiprocessing",
        "playwright",
        "pyodbc",
        "socket",
        "subprocess",
        "tests.needs",
    }
)
# Events of the interpreter's audit that a test of the tier cannot cause.
_FORBIDDEN = frozenset(
    {"socket.bind", "socket.connect", "subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn"}
)
_FIXTURE = re.compile(r"^@pytest\.fixture.*\n(?:async )?def (\w+)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) import (\([^)]*\)|.*)|import (.*))$", re.MULTILINE)
# Tells the processes of pytest-xdist that they are in the tier: they import conftest.py before they know the options.
_VARIABLE = "ASE_EXPORTER_UNIT_TIER"


class OutsideError(BaseException):
    """A test of the tier reaches for the network or a program. No code under test may catch it."""


def enter() -> None:
    """Enter the tier if the command line says so. Call it before anything imports pyodbc."""
    if "--unit" in sys.argv:
        os.environ[_VARIABLE] = "1"
    if _VARIABLE in os.environ:
        _install_pyodbc_stand_in()


@cache
def is_outside(path: Path) -> bool:
    """Whether a module of the tests uses the outside."""
    return any(_leads_outside(name) for name in imports(path))


@cache
def is_inside(path: Path) -> bool:
    """Whether all tests of a file belong to the tier, as it names no fixture of a folder."""
    above = (folder / "conftest.py" for folder in path.parents if folder != REPOSITORY / "tests")
    fixtures = {name for each in above if each.exists() for name in _FIXTURE.findall(each.read_text())}
    return not is_outside(path) and fixtures.isdisjoint(re.findall(r"\w+", path.read_text()))


def contains(item: pytest.Item) -> bool:
    """Whether neither the test's file nor one of a fixture that it takes uses the outside."""
    found = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009  # pytest has no public way
    files = {Path(each.func.__code__.co_filename) for fixtures in found.values() for each in fixtures}
    ours = {file for file in files if file.is_relative_to(REPOSITORY / "tests")}
    return not any(map(is_outside, {item.path, *ours} - {REPOSITORY / "tests/conftest.py"}))


class Inside:
    """While entered, whatever opens a connection or starts a process fails.

    One serves all tests, because an audit hook cannot be removed.
    """

    def __init__(self) -> None:
        self._entered = False
        sys.addaudithook(self._refuse)

    def __enter__(self) -> None:
        self._entered = True

    def __exit__(self, *_error: object) -> None:
        self._entered = False

    def _refuse(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if self._entered and event in _FORBIDDEN:
            raise OutsideError(f"{event}: a test of the unit tier uses the outside; see tests/unit_tier.py")


@cache
def _leads_outside(name: str) -> bool:
    """Whether a module, or a name in one, is outside, or lies below the repository's root and uses what is."""
    if any(name == outside or name.startswith(f"{outside}.") for outside in OUTSIDE):
        return True
    path = (REPOSITORY / name.replace(".", "/")).with_suffix(".py")
    return path.exists() and is_outside(path)


@cache
def imports(path: Path) -> frozenset[str]:
    """All modules, and names in modules, that a file imports."""
    found: set[str] = set()
    for module, names, modules in _IMPORT.findall(path.read_text(encoding="utf-8")):
        found.update(re.findall(r"(?:^|, ?)([\w.]+)", modules))
        found.update({module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))} if module else ())
    return frozenset(found)


def _install_pyodbc_stand_in() -> None:
    """Make the exporter's modules importable without unixODBC."""
    module = ModuleType("pyodbc", "Stand-in without a driver.")
    module.__spec__ = importlib.util.spec_from_loader("pyodbc", None)
    for name in ("Error", "InterfaceError", "OperationalError", "ProgrammingError", "DatabaseError"):
        setattr(module, name, type(name, (Exception,), {}))
    for name in ("Connection", "Cursor", "Row"):
        setattr(module, name, type(name, (), {}))
    module.drivers = list  # type: ignore[attr-defined]
    sys.modules["pyodbc"] = module
