"""Every command, argument and option has a help text."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ase_exporter.commands.app import app as exporter
from ase_simulator.cli import app as simulator

# Characters; a shorter text says nothing.
MIN_LENGTH = 8


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The command and all its subcommands, each with its name on the command line."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


ALL = [
    *commands(typer.main.get_command(exporter), "ase-exporter"),
    *commands(typer.main.get_command(simulator), "ase-simulator"),
]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_and_parameter_has_a_help_text(path: str, command: Any) -> None:
    assert len(command.help or "") > MIN_LENGTH
    silent = [each.name for each in command.params if len(getattr(each, "help", None) or "") <= MIN_LENGTH]
    assert silent == []


def test_the_version_is_printed() -> None:
    told = CliRunner().invoke(exporter, ["--version"])
    assert (told.exit_code, told.output) == (0, f"ase-exporter {version('ase-exporter')}\n")
