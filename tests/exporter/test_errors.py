"""Errors for users."""

import importlib.util
import sys

import pytest

from ase_exporter.errors import MissingExtraError


def test_an_environment_without_pip_gets_its_extra_from_the_pip_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The deb and the rpm have none."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert str(MissingExtraError("report needs numpy", "compare")) == (
        "report needs numpy, which is not installed:"
        f" pip --python {sys.executable} install 'ase-exporter[compare]'"
    )
