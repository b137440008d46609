"""Registry of system procedures: parameters in T-SQL, required roles, implementation.

One file per family; a procedure is a generator (plain or asynchronous) that takes a Call and yields results:

    @procedure("sp_example", "@name varchar(255) = null", roles=("sa_role",))
    def sp_example(call: Call) -> Iterator[Result]:
        yield table("name varchar(30)", [(call.text("@name"),)])
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ase_simulator.contracts import Row, Server
from ase_simulator.results import Column, Message, Result, Rows
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.context import ProcedureContext
from ase_simulator.sql.syntax.lexer import tokenize
from ase_simulator.sql.syntax.parser import Parser
from ase_simulator.sql.syntax.statements import VariableSpec
from ase_simulator.sql.types.values import EngineValue

Answers = Iterator[Result] | AsyncIterator[Result]


async def stream(answers: Answers) -> AsyncIterator[Result]:
    """The results of a procedure or command, whichever way it yields them."""
    if isinstance(answers, AsyncIterator):
        async for result in answers:
            yield result
    else:
        for result in answers:
            yield result


@dataclass(slots=True)
class ProcedureCall:
    """One call of a system procedure.

    values: by parameter name, as in the engine. given: parameters that the client passed. status: return status.
    """

    session: ProcedureContext
    values: dict[str, EngineValue]
    given: frozenset[str]
    status: int = 0

    @property
    def server(self) -> Server:
        """The model."""
        return self.session.server

    def text(self, name: str) -> str | None:
        """A parameter as text without trailing blanks; None for NULL."""
        value = self.values[name]
        return None if value is None else str(value).rstrip(" ")

    def number(self, name: str) -> int | None:
        """A parameter as a whole number; None for NULL."""
        value = self.values[name]
        return None if value is None else int(value)

    def rows(self, name: str) -> Sequence[Row]:
        """A table of the model as of now."""
        return list(self.server.table(name))


@dataclass(frozen=True, slots=True)
class SystemProcedure:
    """A registered procedure. roles: one of them is required; empty: no role is required."""

    name: str
    parameters: Sequence[VariableSpec]
    run: Callable[[ProcedureCall], Answers]
    roles: Sequence[str] = ()


PROCEDURES: dict[str, SystemProcedure] = {}


def procedure(
    name: str, *parameters: str, roles: Sequence[str] = ()
) -> Callable[[Callable[[ProcedureCall], Answers]], Callable[[ProcedureCall], Answers]]:
    """Registers a procedure; each parameter reads as in CREATE PROCEDURE, for example `@value int = null`."""
    specs = Parser(tokenize(", ".join(parameters))).parameters() if parameters else []

    def register(run: Callable[[ProcedureCall], Answers]) -> Callable[[ProcedureCall], Answers]:
        PROCEDURES[name] = SystemProcedure(name, specs, run, roles)
        return run

    return register


def table(columns: str, rows: Iterable[Sequence[object]]) -> Rows:
    """A result set; columns as `name type, name type`, a name with blanks in brackets."""
    return Rows(_columns(columns), [tuple(row) for row in rows])


@cache
def _columns(text: str) -> list[Column]:
    found = []
    for part in _split(text):
        if part.startswith("["):
            name, _, type_text = part[1:].partition("]")
        else:
            name, _, type_text = part.partition(" ")
        type_ = parse_type(type_text)
        assert type_ is not None, part
        found.append(Column(name, type_))
    return found


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


def print_line(text: str) -> Message:
    """A line that a procedure prints."""
    return Message(0, 10, 1, text)
