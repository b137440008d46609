"""EXEC and RPC: finds the procedure, binds its arguments, runs it in its own frame."""

from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ase_simulator.results import Affected, Ended, Message, Result, Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError, message
from ase_simulator.sql.execute.control import LeaveBatch
from ase_simulator.sql.execute.target import drop_table
from ase_simulator.sql.procedures import PARTS, PROCEDURES, REFUSED, SCRIPTED, scripted
from ase_simulator.sql.procedures.registry import ProcedureCall, SystemProcedure
from ase_simulator.sql.state.variables import Frame
from ase_simulator.sql.syntax.statements import CreateProcedure, VariableSpec
from ase_simulator.sql.types.convert import convert
from ase_simulator.sql.types.values import EngineValue

if TYPE_CHECKING:
    from ase_simulator.sql.execute.interpreter import Interpreter

_MAX_NESTING = 50
_FAILED = -6


@dataclass(slots=True)
class BoundArgument:
    """One argument of a call. name: '' by position; variable: target of an output argument, or ''."""

    name: str
    type: Type
    value: EngineValue
    variable: str = ""


@dataclass(slots=True)
class Outcome:
    """Outcome of a call. values: final parameter values by name."""

    status: int = 0
    values: dict[str, EngineValue] | None = None
    types: dict[str, Type] | None = None


def _database_of(name: str) -> str:
    """The database of `database.owner.procedure`, or ''."""
    parts = name.split(".")
    return parts[0] if len(parts) == 3 else ""


def find(session: Context, name: str) -> SystemProcedure | CreateProcedure:
    """The procedure of that name; raises SqlError 2812, 911, 937."""
    parts = name.split(".")
    database = _database_of(name) or session.database
    if database != session.database:
        session.enter(database)
    made = session.shared.procedures
    found = session.procedures.get(parts[-1]) or made.get((database, parts[-1]))
    if found is None and parts[-1].startswith("sp_"):
        found = made.get(("sybsystemprocs", parts[-1])) or made.get(("master", parts[-1]))
    if found is not None:
        return found
    if parts[-1] in SCRIPTED:
        return scripted(parts[-1])
    if parts[-1] in PROCEDURES:
        return PROCEDURES[parts[-1]]
    raise NotSimulatedError(parts[-1]) if parts[-1] in REFUSED else SqlError(2812, name)


@contextmanager
def _nested(session: Context, frame: Frame) -> Iterator[None]:
    """One level deeper, with that frame. Raises SqlError 217 if that is too deep."""
    if session.nestlevel >= _MAX_NESTING:
        raise SqlError(217)
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
    frame = Frame(procedure=found.name, system=found.name in SCRIPTED and found is scripted(found.name))
    database = session.database
    with _nested(session, frame):
        _bind(found.name, found.parameters, arguments, frame)
        try:
            session.names.database = _database_of(name) or database
            results = (
                _system_procedure(session, found, outcome)
                if isinstance(found, SystemProcedure)
                else _client_procedure(interpreter, found, outcome)
            )
            async for result in results:
                if frame.system and isinstance(result, Affected | Ended):
                    continue  # as with `set nocount on`
                if isinstance(result, Message) and not result.procedure and found.name not in PARTS:
                    result = replace(result, procedure=found.name)
                yield result
        finally:
            session.names.database = database
    outcome.values, outcome.types = frame.values, frame.types
    session.status = outcome.status


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


async def function_value(
    interpreter: "Interpreter", made: CreateProcedure, values: Sequence[EngineValue]
) -> EngineValue:
    """Runs a SQL function with these values of its first parameters."""
    session = interpreter.session
    rowcount = session.rowcount
    frame = Frame(procedure=made.name, returns=made.returns)
    given = [
        BoundArgument("", spec.type, value) for spec, value in zip(made.parameters, values, strict=False)
    ]
    with _nested(session, frame):
        _bind(made.name, made.parameters, given, frame)
        try:
            async for _ in interpreter.block(made.body):
                pass
        except LeaveBatch as leave:
            return leave.value
        finally:
            session.rowcount = rowcount
    return None


def completed(running: Coroutine[Any, Any, EngineValue]) -> EngineValue:
    """The value of a coroutine that waits for nothing but its turn."""
    while True:
        try:
            running.send(None)
        except StopIteration as ended:
            return cast(EngineValue, ended.value)


async def _system_procedure(
    session: Context, found: SystemProcedure, outcome: Outcome
) -> AsyncIterator[Result]:
    if found.role not in session.roles:
        outcome.status = 1
        yield message(10353, found.role)
        return
    call = ProcedureCall(session, session.frame.values)
    async for result in found.run(call):
        yield result
    outcome.status = call.status


async def _client_procedure(
    interpreter: "Interpreter", found: CreateProcedure, outcome: Outcome
) -> AsyncIterator[Result]:
    session = interpreter.session
    try:
        async for result in interpreter.block(found.body):
            yield result
    except LeaveBatch as leave:
        outcome.status = leave.status
    except SqlError as error:
        outcome.status = 1 if session.frame.system else _FAILED
        yield error.message
    finally:
        for name in [name for name, held in session.temporary.items() if held.level == session.nestlevel]:
            drop_table(session, "", name)
