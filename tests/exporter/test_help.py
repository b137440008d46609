"""`--help` suffices: every command says what it does, every argument and option what it is for."""

from collections.abc import Iterator
from importlib.metadata import version

import click
import pytest
import typer
from typer.testing import CliRunner

from ase_exporter.cli import app as exporter
from ase_simulator.cli import app as simulator

SHORTEST = 8
"""Letters; less says nothing."""


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, with what is typed for each."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


ALL = [
    *commands(typer.main.get_command(exporter), "ase-exporter"),
    *commands(typer.main.get_command(simulator), "ase-simulator"),
]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_and_all_it_takes_are_explained(path: str, command: click.Command) -> None:
    assert len(command.help or "") > SHORTEST
    silent = [each.name for each in command.params if len(getattr(each, "help", None) or "") <= SHORTEST]
    assert silent == []


def test_the_version_is_told() -> None:
    told = CliRunner().invoke(exporter, ["--version"])
    assert (told.exit_code, told.output) == (0, f"ase-exporter {version('ase-exporter')}\n")
