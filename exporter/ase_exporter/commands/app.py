"""The typer application: all commands, listed, completed and run, as commands.yaml has them.

The function of a command is in the module of its name, with `_` for `-`, and is called like the command. Its
parameters, typed and with defaults, are the arguments and options; commands.yaml says the rest of them.
"""

import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
import typer

from ase_exporter.commands.options import refuse_credentials, refuse_password
from ase_exporter.config.times import parse_duration
from ase_exporter.errors import UserError

_NAME = "ase-exporter"
# typer exports no name for the base class of the errors in a command line.
_UsageError: Any = typer.BadParameter.__base__

# What pydantic says of a value, in our words.
_REWORDED = {
    "Value error, ": "",
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be ": "expected a number ",
    "is not readable.": "is not readable: expected one that this user may read",
}

# What stands for a value in the help, by its type.
_METAVARS = {"Path": "PATH", "str": "TEXT", "int": "NUMBER", "float": "NUMBER"}

Settings = str | dict[str, Any]


class Command(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of commands.yaml."""

    help: str
    module: str = ""
    parameters: dict[str, Settings] = {}
    commands: dict[str, "Command"] = {}


class _CommandTable(msgspec.Struct, forbid_unknown_fields=True):
    flags: dict[str, list[str]]
    shared: dict[str, Settings]
    commands: dict[str, Command]


_TABLE = msgspec.yaml.decode(Path(__file__).with_name("commands.yaml").read_bytes(), type=_CommandTable)
COMMANDS = _TABLE.commands


class _PlainTypes:
    """A command whose help shows no types of Python: flags take no value, arguments have a name."""

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: ""
        return found


class _Command(_PlainTypes, typer.core.TyperCommand):
    pass


class _Group(_PlainTypes, typer.core.TyperGroup):
    pass


class _InOrder(_Group):
    """Lists commands in the order of COMMANDS, whether they are loaded or not."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if name in self.commands]


def build(loaded: Collection[str] = COMMANDS.keys()) -> typer.Typer:
    """The application with these commands. The others are only listed: to import all of them takes a second."""
    made = typer.Typer(
        name=_NAME,
        cls=_InOrder,
        help="Prometheus exporter for SAP ASE: shows where a database spins instead of works.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_every_command)
    for name, entry in COMMANDS.items():
        if name in loaded:
            _add(made, name, entry, entry.module or _identifier(name))
        else:
            made.command(name, help=entry.help)(_not_loaded)
    return made


def _add(made: typer.Typer, name: str, entry: Command, module: str) -> None:
    if entry.commands:
        group = typer.Typer(no_args_is_help=True, cls=_Group)
        for below, its_entry in entry.commands.items():
            _add(group, below, its_entry, module)
        made.add_typer(group, name=name, help=entry.help)
        return
    function = getattr(import_module(f"ase_exporter.commands.{module}"), _identifier(name))
    function.__annotations__ = {
        parameter: hint if parameter == "return" else Annotated[hint, _described(parameter, str(hint), entry)]
        for parameter, hint in get_type_hints(function).items()
    }
    made.command(name, help=entry.help, cls=_Command)(function)


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _described(parameter: str, hint: str, entry: Command) -> Any:
    """The `typer.Option` or `typer.Argument` of a command's parameter, whose type is `hint`."""
    found = entry.parameters.get(parameter) or _TABLE.shared[parameter]
    settings = {"help": found} if isinstance(found, str) else dict(found)
    if settings.pop("argument", False):
        return typer.Argument(**settings)
    if kind := re.search(r"\b(?:Path|str|int|float)\b", hint):
        settings.setdefault("metavar", _METAVARS[kind[0]])
    usual = _TABLE.flags.get(parameter, [f"--{parameter.replace('_', '-')}"])
    flags: Iterable[str] = settings.pop("flags", usual)
    if settings.pop("duration", False):
        least, most = float(settings.pop("min", 0)), float(settings.pop("max", math.inf))
        settings |= {"parser": _duration_of(usual[0], least, most), "metavar": "DURATION"}
    return typer.Option(*flags, **settings)


def _duration_of(option: str, least: float, most: float) -> Callable[[str | float], float]:
    """A function that reads the seconds of an option, within limits. Raises UserError, which names it."""

    def parse(value: str | float) -> float:
        # Defaults are parsed, too, and are seconds already.
        if isinstance(value, int | float):
            return float(value)
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            raise UserError(f"{option}: {value!r}: {error}") from None
        if not least <= seconds <= most:
            raise UserError(f"{option}: {seconds:g} s: expected {least:g} s to {most:g} s")
        return seconds

    return parse


def run() -> int:
    """Run the command of sys.argv and return its exit code. Raises UserError if the command line is wrong."""
    refuse_password(sys.argv[1:])
    refuse_credentials(sys.argv[1:])
    # The command line that a shell completes is in one of these variables, depending on the shell.
    completed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    app = build(COMMANDS.keys() & {*sys.argv[1:], *completed.split()})
    try:
        # Not standalone: typer would print a usage error as a box of several lines.
        return app(prog_name=_NAME, standalone_mode=False) or 0
    except typer.Abort:
        return 130
    except _UsageError as error:
        message = " ".join(error.format_message().split())
        for words, expected in _REWORDED.items():
            message = message.replace(words, expected)
        if not message:
            return 2  # no command: typer has printed the help
        if type(error).__name__ == "NoSuchOption":
            message += _who_takes(error.option_name)
        context = error.ctx
        command = context.command_path.removeprefix(_NAME).strip() if context else ""
        if message.endswith(f"No such option: {getattr(error, 'option_name', '')}"):
            message += f"; {_NAME} {command and command + ' '}--help lists them"
        raise UserError(f"{command}: {message}" if command else message) from None


def _who_takes(option: str) -> str:
    """Which commands take an option, for one that does not."""
    commands: Any = typer.main.get_command(build())
    takers = [
        name for name, each in commands.commands.items() if any(option in own.opts for own in each.params)
    ]
    return f"; it is an option of {', '.join(takers)}" if takers else ""


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"ase-exporter {version('ase-exporter')}")
        raise typer.Exit


def _not_loaded() -> None:
    raise AssertionError("a command was run that is only listed")


def _every_command(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass
