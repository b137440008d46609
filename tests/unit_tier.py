"""The unit tier, `pytest --unit`: tests that need no program or library beyond the pinned Python packages.

Left out are tests that need Debian packages (FreeTDS, Prometheus, Chromium...), start processes or take long. pyodbc
cannot be imported without unixODBC, so these tests get a stand-in that cannot connect, on every machine.
"""

import sys
from pathlib import Path
from types import ModuleType

from tests.paths import REPOSITORY

TESTS = REPOSITORY / "tests"
# Directories and files below TESTS.
LEFT_OUT = tuple((TESTS / "unit_tier.txt").read_text(encoding="utf-8").split())


def is_left_out(path: Path) -> bool:
    """Whether a file or directory is on the list."""
    return any(path.is_relative_to(TESTS / name) for name in LEFT_OUT)


def install_pyodbc_stand_in() -> None:
    """Make the exporter's modules importable without unixODBC."""
    module = ModuleType("pyodbc", "Stand-in without a driver.")
    for name in ("Error", "InterfaceError", "OperationalError", "ProgrammingError", "DatabaseError"):
        setattr(module, name, type(name, (Exception,), {}))
    for name in ("Connection", "Cursor", "Row"):
        setattr(module, name, type(name, (), {}))
    module.drivers = list  # type: ignore[attr-defined]
    sys.modules["pyodbc"] = module
