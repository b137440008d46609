"""ASE's messages as data, and the exception that carries one."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from ase_simulator.contracts import ServerError
from ase_simulator.results import Message


def _messages() -> dict[int, tuple[int, int, str]]:
    """Severity, state and text by number."""
    text = files(__package__).joinpath("messages.csv").read_text(encoding="utf-8")
    return {
        int(row["number"]): (int(row["severity"]), int(row["state"]), row["text"].replace("\\n", "\n"))
        for row in csv.DictReader(text.splitlines())
    }


_MESSAGES = _messages()


def all_messages() -> Mapping[int, tuple[int, int, str]]:
    """Severity, state and text of every message, by number."""
    return _MESSAGES


class SqlError(ServerError):
    """An error with ASE's own message. line: within its batch, set once the statement is known."""

    def __init__(self, number: int, *words: object, line: int = 1) -> None:
        severity, state, text = _MESSAGES[number]
        super().__init__(number, text.format(*words), severity, state)
        self.message = replace(self.message, line=line)


def message(number: int, *words: object) -> Message:
    """One of ASE's messages, formatted."""
    return SqlError(number, *words).message
