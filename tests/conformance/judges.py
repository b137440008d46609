"""Programs of other projects that judge the simulator: built elsewhere, named by environment variables."""

import os
import shutil
from pathlib import Path

import pytest

GO_ASE = "CONFORMANCE_GO_ASE"
"""The compiled integration tests of SAP's go-ase."""
FREETDS = "CONFORMANCE_FREETDS"
"""A folder with the compiled unit tests of FreeTDS: dblib/unittests and ctlib/unittests under it.

FreeTDS was configured by an absolute path: the tests look for their files relative to it, from another folder.
"""
ASE_CLIENT = "CONFORMANCE_ASE_CLIENT"
"""AdoNetCore.AseClient.dll for the .NET Framework."""


def needed(variable: str) -> Path:
    """What an environment variable names; skips where it is not set."""
    value = os.environ.get(variable, "")
    if not value:
        pytest.skip(f"{variable} is not set")
    path = Path(value)
    assert path.exists(), f"{variable}={value}: there is no such file"
    return path


def program(name: str) -> str:
    """The path of a program; skips where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
