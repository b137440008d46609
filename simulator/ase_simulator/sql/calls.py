"""EXEC and RPC: finds the procedure, binds its arguments, runs it in a frame of its own."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ase_simulator.contracts import ServerError
from ase_simulator.results import Message, Result, ReturnStatus, Type
from ase_simulator.sql.control import LeaveBatch
from ase_simulator.sql.convert import convert
from ase_simulator.sql.errors import SqlError, message
from ase_simulator.sql.frames import Frame
from ase_simulator.sql.procedures import PROCEDURES
from ase_simulator.sql.procedures.registry import Call, SystemProcedure
from ase_simulator.sql.statements import CreateProcedure, VariableSpec
from ase_simulator.sql.values import EngineValue

if TYPE_CHECKING:
    from ase_simulator.sql.interpreter import Interpreter
    from ase_simulator.sql.session import SqlSession

_DEEPEST = 50
_FAILED = -6


@dataclass(slots=True)
class Given:
    """One argument of a call. name: '' by position; variable: where an output goes, or ''."""

    name: str
    type: Type
    value: EngineValue
    variable: str = ""


@dataclass(slots=True)
class Outcome:
    """How a call ended. values: parameters by name, as they are at the end."""

    status: int = 0
    values: dict[str, EngineValue] | None = None
    types: dict[str, Type] | None = None


def find(session: "SqlSession", name: str) -> SystemProcedure | CreateProcedure:
    """The procedure that a name means; raises SqlError 2812."""
    parts = name.split(".")
    database = parts[0] if len(parts) == 3 and parts[0] else session.database
    made = session.backend.procedures
    found = session.procedures.get(parts[-1]) or made.get((database, parts[-1]))
    if found is None and parts[-1].startswith("sp_"):
        found = made.get(("sybsystemprocs", parts[-1])) or made.get(("master", parts[-1]))
    system = PROCEDURES.get(parts[-1])
    if found is None and system is None:
        raise SqlError(2812, name)
    return found or system  # type: ignore[return-value]


async def run(
    interpreter: "Interpreter", name: str, arguments: Sequence[Given], outcome: Outcome
) -> AsyncIterator[Result]:
    """The results of a call; how it ended is left in outcome. Raises SqlError where it cannot begin."""
    session = interpreter.session
    found = find(session, name)
    if session.nestlevel >= _DEEPEST:
        raise SqlError(217)
    outer = session.frame
    frame = Frame(procedure=found.name)
    _bind(found.name, found.parameters, arguments, frame)
    session.nestlevel += 1
    session.frame = frame
    try:
        results = (
            _system(session, found, arguments, outcome)
            if isinstance(found, SystemProcedure)
            else _made(interpreter, found, outcome)
        )
        async for result in results:
            if isinstance(result, Message) and not result.procedure:
                result = replace(result, procedure=found.name)
            yield result
    finally:
        session.frame = outer
        session.nestlevel -= 1
    outcome.values, outcome.types = frame.values, frame.types
    session.status = outcome.status


def _bind(name: str, specs: Sequence[VariableSpec], arguments: Sequence[Given], frame: Frame) -> None:
    given: dict[str, Given] = {}
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


async def _system(
    session: "SqlSession", found: SystemProcedure, arguments: Sequence[Given], outcome: Outcome
) -> AsyncIterator[Result]:
    if found.roles and not set(found.roles) & set(session.roles):
        outcome.status = 1
        yield message(10353, ", ".join(found.roles))
        return
    names = {argument.name for argument in arguments if argument.name}
    names |= {
        spec.name for spec, argument in zip(found.parameters, arguments, strict=False) if not argument.name
    }
    call = Call(session, session.frame.values, frozenset(names))
    try:
        results = found.run(call)
        if isinstance(results, AsyncIterator):
            async for result in results:
                yield result
        else:
            for result in results:
                yield result
        outcome.status = call.status
    except SqlError as refusal:
        outcome.status = 1
        yield refusal.message
    except ServerError as refusal:
        outcome.status = 1
        yield refusal.message


async def _made(
    interpreter: "Interpreter", found: CreateProcedure, outcome: Outcome
) -> AsyncIterator[Result]:
    temporary = set(interpreter.session.temporary)
    try:
        async for result in interpreter.block(found.body):
            yield result
    except LeaveBatch as leave:
        outcome.status = leave.status
    except SqlError as refusal:
        outcome.status = _FAILED
        yield refusal.message
    finally:
        interpreter.session.drop_temporary(set(interpreter.session.temporary) - temporary)


def ended(outcome: Outcome) -> ReturnStatus:
    """What the client learns of a call's end."""
    return ReturnStatus(outcome.status)
