"""Prints the man page of ase-exporter, made from the help texts of its commands."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import typer

from ase_exporter.commands.app import build


def page() -> str:
    """Return the page in troff's man macros."""
    command: Any = typer.main.get_command(build())
    release = version("ase-exporter")
    return "\n".join(
        [
            f'.TH ASE-EXPORTER 1 "" "ase-exporter {release}" "User Commands"',
            ".SH NAME",
            rf"ase\-exporter \- {_escaped(command.help)}",
            ".SH SYNOPSIS",
            r".B ase\-exporter",
            r".I COMMAND",
            "[OPTIONS]",
            ".SH COMMANDS",
            *(line for name, below in _commands(command) for line in _section(name, below)),
            ".SH FILES",
            r".TP",
            r".I /etc/ase\-exporter/exporter.yaml",
            "Servers and their logins.",
            r".TP",
            r".I /var/lib/ase\-exporter",
            "History of configuration changes.",
            "",
        ]
    )


def _commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        yield f"{path}{name}", below
        yield from _commands(below, f"{path}{name} ")


def _section(name: str, command: Any) -> Iterator[str]:
    yield f".SS {_escaped(name)}"
    for paragraph in (command.help or "").split("\n\n"):
        yield ".PP"
        yield _escaped(" ".join(paragraph.split()))
    for parameter in command.params:
        yield ".TP"
        yield rf"\fB{_escaped(', '.join(parameter.opts))}\fR"
        yield _escaped(" ".join((getattr(parameter, "help", None) or "").split()))


def _escaped(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    # A line that begins with a dot or a quote would be a request.
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    print(page(), end="")
