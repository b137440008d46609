"""ASE's messages as data, and the exception that carries one."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from ase_simulator.contracts import ServerError
from ase_simulator.results import Message
from ase_simulator.yaml_text import load_yaml


def _messages() -> dict[int, tuple[int, int, str]]:
    """Severity, state and text by number."""
    text = files(__package__).joinpath("messages.csv").read_text(encoding="utf-8")
    return {
        int(row["number"]): (int(row["severity"]), int(row["state"]), row["text"].replace("\\n", "\n"))
        for row in csv.DictReader(text.splitlines())
    }


MESSAGES: Mapping[int, tuple[int, int, str]] = _messages()
NOT_SIMULATED = 20999
REFUSED: Mapping[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in load_yaml(files(__package__).joinpath("refused.yaml").read_text("utf-8")).items()
}


class SqlError(ServerError):
    """An error with ASE's own message. line: within its batch, set once the statement is known.

    detail: what the embedded engine said.
    """

    def __init__(self, number: int, *words: object, line: int = 1, detail: str = "") -> None:
        severity, state, text = MESSAGES[number]
        super().__init__(number, text.format(*words), severity, state)
        self.message = replace(self.message, line=line)
        self.detail = detail


class NotSimulatedError(SqlError):
    """What ASE does and the simulator does not. what: names no object and no value of the client."""

    def __init__(self, what: str) -> None:
        super().__init__(NOT_SIMULATED, what)
        self.what = what


def refusal(kind: str, name: str, otherwise: SqlError) -> SqlError:
    """NotSimulatedError for what ASE has and the simulator does not, else the given error. kind: of refused.yaml."""
    shown = f"{name}()" if kind == "functions" else f"DBCC {name}" if kind == "dbcc" else name
    return NotSimulatedError(shown) if name in REFUSED[kind] else otherwise


def message(number: int, *words: object) -> Message:
    return SqlError(number, *words).message
