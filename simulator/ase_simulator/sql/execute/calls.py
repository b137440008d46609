"""EXEC: finds the procedure, binds its arguments, runs it in its own frame."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ase_simulator.results import Affected, Ended, Message, Result, Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError, refusal
from ase_simulator.sql.execute.target import drop_table
from ase_simulator.sql.procedures import PARTS, PROCEDURES, procedure
from ase_simulator.sql.procedures.sysmon import sp_sysmon
from ase_simulator.sql.state.variables import Frame
from ase_simulator.sql.syntax.statements import Procedure, VariableSpec
from ase_simulator.sql.types.convert import convert
from ase_simulator.sql.types.values import EngineValue

if TYPE_CHECKING:
    from ase_simulator.sql.execute.interpreter import Interpreter


class LeaveLoop(Exception):  # noqa: N818 - control flow, not an error
    """BREAK, or CONTINUE if again is true."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.again = again


class LeaveBatch(Exception):  # noqa: N818 - control flow, not an error
    """RETURN, with the status of a procedure."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


@dataclass(slots=True)
class BoundArgument:
    """One argument of a call. name: '' by position."""

    name: str
    type: Type
    value: EngineValue


@dataclass(slots=True)
class Outcome:
    """The return status of a call."""

    status: int = 0


def _database_of(name: str) -> str:
    """The database of `database.owner.procedure`, or ''."""
    parts = name.split(".")
    return parts[0] if len(parts) == 3 else ""


def find(session: Context, name: str) -> Procedure:
    """The procedure of that name; raises SqlError 2812, 911, 937."""
    database = _database_of(name) or session.database
    if database != session.database:
        session.enter(database)
    known = name.split(".")[-1]
    if known in PROCEDURES and (known not in PARTS or session.frame.system):
        return procedure(known)
    raise refusal("procedures", known, SqlError(2812, name))


@contextmanager
def _nested(session: Context, frame: Frame) -> Iterator[None]:
    """One level deeper, with that frame."""
    outer, session.frame = session.frame, frame
    session.nestlevel += 1
    try:
        yield
    finally:
        session.frame = outer
        session.nestlevel -= 1


async def run(
    interpreter: "Interpreter", name: str, arguments: Sequence[BoundArgument], outcome: Outcome
) -> AsyncIterator[Result]:
    """Yields the results of a call and fills in outcome. Raises SqlError if it cannot start."""
    session = interpreter.session
    found = find(session, name)
    frame = Frame(procedure=found.name, system=True)
    database = session.database
    with _nested(session, frame):
        _bind(found.name, found.parameters, arguments, frame)
        try:
            session.names.database = _database_of(name) or database
            async for result in _script(interpreter, found, outcome):
                if isinstance(result, Affected | Ended):
                    continue  # as with `set nocount on`
                if isinstance(result, Message) and not result.procedure and found.name not in PARTS:
                    result = replace(result, procedure=found.name)
                yield result
        finally:
            session.names.database = database


def _bind(name: str, specs: Sequence[VariableSpec], arguments: Sequence[BoundArgument], frame: Frame) -> None:
    given: dict[str, BoundArgument] = {}
    for place, argument in enumerate(arguments):
        if argument.name:
            given[argument.name] = argument
        elif place < len(specs):
            given[specs[place].name] = argument
        else:
            raise SqlError(8144, name)
    for unknown in given.keys() - {spec.name for spec in specs}:
        raise SqlError(8145, unknown, name)
    for spec in specs:
        supplied = given.get(spec.name)
        if supplied is not None:
            value = supplied.value
            if value is not None and supplied.type != spec.type:
                value = convert(supplied.type, spec.type, value, how="implicit")
            frame.declare(spec.name, spec.type, value)
        elif spec.default is not None:
            frame.declare(spec.name, spec.type, _default(spec))
        else:
            raise SqlError(201, name, spec.name)


def _default(spec: VariableSpec) -> EngineValue:
    tokens = spec.default or ()
    text = "".join(token.text for token in tokens)
    if text.lower() == "null":
        return None
    source = Type("varchar", len(text) or 1)
    return convert(source, spec.type, text, how="implicit")


async def _script(interpreter: "Interpreter", found: Procedure, outcome: Outcome) -> AsyncIterator[Result]:
    session = interpreter.session
    try:
        async for result in interpreter.block(found.body):
            yield result
        if found.name == "sp_sysmon":
            arguments = {name: str(value or "") for name, value in session.frame.values.items()}
            async for result in sp_sysmon(session, arguments):
                yield result
    except LeaveBatch as leave:
        outcome.status = leave.status
    except SqlError as error:
        if isinstance(error, NotSimulatedError):
            session.server.faults.not_simulated(error.what)
        outcome.status = 1
        yield error.message
    finally:
        for name in [name for name, held in session.temporary.items() if held.level == session.nestlevel]:
            drop_table(session, "", name)
