"""Every command, argument and option has a help text."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ase_exporter.commands.app import app as exporter
from ase_exporter.commands.app import build
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


def test_the_list_of_commands_is_the_same_without_loading_them() -> None:
    """`--help` imports no command: its texts are a copy."""
    listed = CliRunner().invoke(build(()), ["--help"])
    assert (listed.exit_code, listed.output) == (0, CliRunner().invoke(exporter, ["--help"]).output)


def test_a_command_is_run_without_loading_the_others() -> None:
    program = (
        "import sys; sys.argv = ['ase-exporter', 'probe', '--help']\n"
        "from ase_exporter.commands.app import run\n"
        "run()\n"
        "print(sorted(name for name in sys.modules if name.startswith('ase_exporter.commands.')))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Scrape one target" in told.stdout
    loaded = ["app", "options", "probe", "serve"]
    assert told.stdout.splitlines()[-1] == str([f"ase_exporter.commands.{name}" for name in loaded])
