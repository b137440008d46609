"""The system procedures: those in T-SQL (catalog.sql), and what one in Python needs."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ase_simulator.contracts import Row
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Message, Result
from ase_simulator.sql.context import Context
from ase_simulator.sql.syntax.parser import parse_procedure
from ase_simulator.sql.syntax.statements import Procedure, VariableSpec
from ase_simulator.sql.types.values import EngineValue


@dataclass(slots=True)
class ProcedureCall:
    """One call. values: by parameter name, as in the engine. status: return status."""

    session: Context
    values: dict[str, EngineValue]
    status: int = 0

    @property
    def server(self) -> SimulatedServer:
        """The model."""
        return self.session.server

    def text(self, name: str) -> str | None:
        """A parameter as text without trailing blanks; None for NULL."""
        value = self.values[name]
        return None if value is None else str(value).rstrip(" ")

    def rows(self, name: str) -> Sequence[Row]:
        """A table of the model as of now."""
        return list(self.server.table(name))


@dataclass(frozen=True, slots=True)
class SystemProcedure:
    """One procedure: an asynchronous generator that takes a call and yields results. role: it is required."""

    name: str
    parameters: Sequence[VariableSpec]
    run: Callable[[ProcedureCall], AsyncIterator[Result]]
    role: str


def print_line(text: str) -> Message:
    """A line that a procedure prints."""
    return Message(0, 10, 1, text)


def _texts() -> dict[str, str]:
    text = files(__package__).joinpath("catalog.sql").read_text(encoding="utf-8")
    return {
        found[1]: part
        for part in re.split(r"(?m)^go$", text)
        if (found := re.search(r"create procedure (\w+)", part))
    }


SCRIPTED = _texts()
"""The texts of procedures by name; each is parsed when it is first called."""

PARTS = frozenset(name for name in SCRIPTED if not name.startswith("sp_"))
"""Those that are parts of others, which no ASE has."""


@cache
def scripted(name: str) -> Procedure:
    """A procedure of SCRIPTED."""
    return parse_procedure(SCRIPTED[name])
