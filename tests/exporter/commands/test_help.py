"""Every command, argument and option has a help text, and only what is asked for is imported."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ase_exporter.commands.app import COMMANDS, build
from ase_simulator.cli import app as simulator

# Characters; a shorter text says nothing.
MIN_LENGTH = 8


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The command and all its subcommands, each with its name on the command line."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


ALL = [
    *commands(typer.main.get_command(build()), "ase-exporter"),
    *commands(typer.main.get_command(simulator), "ase-simulator"),
]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_and_parameter_has_a_help_text(path: str, command: Any) -> None:
    assert len(command.help or "") > MIN_LENGTH, f"{path}: say what it does in commands/commands.yaml"
    silent = [each.name for each in command.params if len(getattr(each, "help", None) or "") <= MIN_LENGTH]
    assert silent == [], f"{path}: give these parameters a text in commands/commands.yaml"


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_help_shows_no_type_of_python(
    path: str, command: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with contextlib.suppress(SystemExit):
        command.main(["--help"], prog_name=path)
    # Choices are shown between the same brackets, of ranges with a number.
    shown = capsys.readouterr().out
    assert "--help" in shown
    assert not re.search(r"<(?!=|[a-z]+\|)[^<>]*>", shown), shown


def test_what_is_described_is_a_parameter() -> None:
    for path, command in ALL:
        program, *words = path.split()
        entry = COMMANDS.get(words[0]) if program == "ase-exporter" and words else None
        for word in words[1:] if entry else ():
            entry = entry.commands[word] if entry else None
        assert not entry or entry.parameters.keys() <= {each.name for each in command.params}, path


def test_one_option_has_one_spelling_and_one_environment_variable() -> None:
    """What two commands call alike is the same, and what is the same has one name."""
    variables: dict[str, set[str]] = {}
    for path, command in ALL:
        for each in command.params if path.startswith("ase-exporter") else ():
            assert not {"--out", "--change"} & set(each.opts), path
            assert ("-o" in each.opts) == ("--output" in each.opts), path
            for option in each.opts:
                variables.setdefault(option, set()).add(str(each.envvar))
    assert {option: names for option, names in variables.items() if len(names) > 1} == {}


def test_the_version_is_printed() -> None:
    told = CliRunner().invoke(build(), ["--version"])
    assert (told.exit_code, told.output) == (0, f"ase-exporter {version('ase-exporter')}\n")


def test_a_command_is_run_without_loading_the_others() -> None:
    program = (
        "import sys; sys.argv = ['ase-exporter', 'advise', '--help']\n"
        "from ase_exporter.commands.app import run\n"
        "run()\n"
        "print(sorted(name for name in sys.modules if name.startswith('ase_exporter.commands.')))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "advise" in told.stdout
    loaded = ["advise", "app", "options"]
    assert told.stdout.splitlines()[-1] == str([f"ase_exporter.commands.{name}" for name in loaded])
