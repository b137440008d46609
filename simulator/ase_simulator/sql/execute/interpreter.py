"""Runs a batch statement by statement, as an asynchronous stream of results."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ase_simulator.contracts import ServerError
from ase_simulator.results import Affected, Disconnect, Ended, Message, Result, ReturnStatus, Type
from ase_simulator.sql.compile.compiler import Compiled
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import MESSAGES, NotSimulatedError, SqlError, message
from ase_simulator.sql.execute import calls, commands, dml
from ase_simulator.sql.execute.calls import BoundArgument, LeaveBatch, LeaveLoop, Outcome
from ase_simulator.sql.execute.queries import QueryResult, Values, compile_query, result_set, run_query
from ase_simulator.sql.state.variables import Frame
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.lexer import Kind
from ase_simulator.sql.syntax.parser import parse_batch
from ase_simulator.sql.types.convert import convert, parse_moment, text_of
from ase_simulator.sql.types.rules import INT
from ase_simulator.sql.types.values import DAY, EngineValue

_MAX_INFORMATION_SEVERITY = 10
_log = logging.getLogger(__name__)
_DEADLOCK = 1205
_CHAINING = (ast.Insert, ast.Update, ast.Delete)


# Errors after which the rest of a batch runs. No manual lists them: here they are those of single values, keys, locks,
# procedures and roles, as opposed to names that are not known and syntax.
_ENDS_ONLY_STATEMENT = frozenset({
    201, 233, 241, 515, 911, 916, 2812, 3701, 8144, 8145, 10353, 11039, 12205, 17231,
})  # fmt: skip


# A stream of results, or what ends without one.
Answer = AsyncIterator[Result] | Coroutine[Any, Any, None]


class Interpreter:
    """One run of one batch or procedure in a session."""

    def __init__(self, session: Context) -> None:
        self.session = session

    async def batch(self, sql: str) -> AsyncIterator[Result]:
        """A whole batch; its variables end with it."""
        session = self.session
        if session.ended():
            if not session.locker.killed:
                yield message(6002)
            yield Disconnect()
            return
        session.activity.sql = sql
        session.frame = Frame()
        try:
            statements = parse_batch(sql, quoted_identifier=session.settings.quoted_identifier)
            async for result in self.block(statements):
                yield result
        except SqlError as error:
            session.error = error.message.number
            yield error.message
        except LeaveLoop as leave:
            yield message(136 if leave.again else 135)
        except LeaveBatch:
            return

    async def block(self, statements: Sequence[ast.Statement]) -> AsyncIterator[Result]:
        """Statements one after the other; an error that ends only its statement lets the next one run."""
        for statement in statements:
            if self.session.locker.killed:
                yield Disconnect()
                raise LeaveBatch(0)
            try:
                async for result in self.statement(statement):
                    yield result
            except SqlError as error:
                if self.session.ended():
                    yield Disconnect()
                    raise LeaveBatch(0) from None
                if not self._goes_on(error):
                    raise
                self.session.error = error.message.number
                yield error.message

    async def statement(self, statement: ast.Statement) -> AsyncIterator[Result]:
        """One statement."""
        session = self.session
        session.names.refresh()
        session.activity.command = _COMMANDS.get(type(statement), session.activity.command)
        if session.settings.chained and not session.trancount and _chains(statement):
            session.transactions.begin("", chained=True)
        try:
            answer = _HANDLERS[type(statement)](self, statement)
            if isinstance(answer, Coroutine):
                await answer
                return
            async for result in answer:
                if isinstance(result, Message) and result.severity > _MAX_INFORMATION_SEVERITY:
                    session.error = result.number
                yield result
        except SqlError as error:
            if isinstance(error, NotSimulatedError):
                session.server.faults.not_simulated(error.what)
            if error.message.number == _DEADLOCK:
                session.transactions.rollback()
            raise self._placed(error, statement) from None
        except ServerError as error:
            session.error = error.message.number
            yield replace(error.message, line=statement.line)
        finally:
            session.transactions.end_statement()

    def _goes_on(self, error: SqlError) -> bool:
        """Whether the rest of a batch runs after an error."""
        if isinstance(error, NotSimulatedError):
            return not self.session.server.faults.strict
        return error.message.number in _ENDS_ONLY_STATEMENT

    def _placed(self, error: SqlError, statement: ast.Statement) -> SqlError:
        if error.message.line == 1:
            error.message = replace(
                error.message, line=statement.line, procedure=self.session.frame.procedure
            )
        return error

    async def _query(self, statement: ast.Query) -> AsyncIterator[Result]:
        session = self.session
        compiled = compile_query(session, statement)
        answer = await run_query(session, compiled)
        if compiled.assigns:
            self.assign(compiled, answer)
            return
        if compiled.into is not None:
            session.rowcount, session.error = await dml.into(session, compiled, answer), 0
            yield self._affected(session.rowcount)
            return
        rows = _Counting(answer)
        failed: list[SqlError] = []
        shown = result_set(compiled.columns, rows, failed, session.settings.textsize)
        shown.counted = not session.settings.nocount
        yield shown
        session.rowcount = rows.count
        session.error = 0
        if answer.notice is not None:
            yield replace(answer.notice, line=statement.line)
        if failed:
            raise failed[0]

    async def _refuse(self, statement: ast.NotSimulated) -> None:
        raise NotSimulatedError(statement.what)

    async def _declare(self, statement: ast.Declare) -> None:
        for variable in statement.variables:
            self.session.frame.declare(variable.name, variable.type)
            if variable.default is not None:
                source, value = await self.value(variable.default)
                self.set_variable(variable.name, source, value)

    async def _set_variables(self, statement: ast.SetVariables) -> None:
        for name, tokens in statement.assignments:
            source, value = await self.value(tokens)
            self.set_variable(name, source, value)

    async def _change(self, statement: ast.Insert | ast.Update | ast.Delete) -> AsyncIterator[Result]:
        session = self.session
        if isinstance(statement, ast.Insert):
            count = await dml.insert(session, statement)
        elif isinstance(statement, ast.Update):
            count = await dml.update(session, statement)
        else:
            count = await dml.delete(session, statement)
        session.rowcount, session.error = count, 0
        yield self._affected(count)

    def _affected(self, count: int) -> Result:
        return Ended() if self.session.settings.nocount else Affected(count)

    async def _command(self, statement: ast.Command) -> AsyncIterator[Result]:
        for result in commands.run_command(self.session, await self.filled(statement.words)):
            yield result

    async def _define(self, statement: ast.Statement) -> AsyncIterator[Result]:
        await dml.define(self.session, statement)
        yield Ended()

    # -- control flow -----------------------------------------------------------------------------------

    async def _if(self, statement: ast.If) -> AsyncIterator[Result]:
        chosen = statement.then if await self.condition(statement.condition) else statement.otherwise
        if chosen is not None:
            async for result in self.statement(chosen):
                yield result

    async def _while(self, statement: ast.While) -> AsyncIterator[Result]:
        while await self.condition(statement.condition):
            try:
                async for result in self.statement(statement.body):
                    yield result
            except LeaveLoop as leave:
                if not leave.again:
                    break
            await asyncio.sleep(0)

    async def _block(self, statement: ast.Block) -> AsyncIterator[Result]:
        async for result in self.block(statement.body):
            yield result

    async def _leave(self, statement: ast.Leave) -> None:
        raise LeaveLoop(again=statement.again)

    async def _return(self, statement: ast.Return) -> None:
        status = 0
        if statement.value:
            _, value = await self.value(statement.value)
            status = int(value or 0)
        raise LeaveBatch(status)

    # -- messages ---------------------------------------------------------------------------------------

    async def _print(self, statement: ast.Print) -> AsyncIterator[Result]:
        yield Message(0, 10, 1, await self.formatted(statement.arguments), line=statement.line)

    async def _raiserror(self, statement: ast.Raiserror) -> AsyncIterator[Result]:
        _, value = await self.value(statement.number)
        number, frame = int(value or 0), self.session.frame
        severity, state, text = MESSAGES.get(number, (16, 1, ""))
        if statement.listed or not statement.arguments:
            words = [text_of(*await self.value(argument)) for argument in statement.arguments]
            text = text.format(*words) if text.count("{}") == len(words) else text
        else:
            severity, state, text = 16, 1, await self.formatted(statement.arguments)
        yield Message(number, severity, state, text, frame.procedure, statement.line)

    async def _waitfor(self, statement: ast.WaitFor) -> None:
        _, value = await self.value(statement.value)
        moment = parse_moment(str(value))
        if moment is None or moment >= DAY:
            raise SqlError(148, statement.value[0].text)
        await self.session.sleep(moment / 1_000_000)

    async def _execute(self, statement: ast.Execute) -> AsyncIterator[Result]:
        name = "".join(await self.filled(statement.name))
        arguments = [await self._bound_argument(argument) for argument in statement.arguments]
        outcome = Outcome()
        async for result in calls.run(self, name, arguments, outcome):
            yield result
        if statement.status:
            self.set_variable(statement.status, INT, outcome.status)
        if self.session.nestlevel == 0:
            yield ReturnStatus(outcome.status)

    async def _bound_argument(self, argument: ast.Argument) -> BoundArgument:
        tokens = argument.value
        if len(tokens) == 1 and tokens[0].kind is Kind.WORD and not tokens[0].is_word("null"):
            return BoundArgument(argument.name, Type("varchar", len(tokens[0].text)), tokens[0].text)
        return BoundArgument(argument.name, *await self.value(tokens))

    # -- values and texts -------------------------------------------------------------------------------

    def assign(self, compiled: Compiled, answer: QueryResult) -> None:
        """`select @v = …`: assigns the values of the last row."""
        session, count = self.session, 0
        for row in answer.rows:
            count += 1
            for name, value, column in zip(compiled.assigns, row, compiled.columns, strict=True):
                self.set_variable(name, column.type, value)
        session.rowcount, session.error = count, 0

    def set_variable(self, name: str, source: Type, value: EngineValue) -> None:
        """Sets a variable, converting the value to its type."""
        target = self.session.variable_type(name)
        if value is not None and source != target:
            value = convert(source, target, value, how="implicit")
        self.session.frame.values[name] = value

    async def value(self, tokens: ast.Tokens) -> tuple[Type, EngineValue]:
        return await dml.evaluate(self.session, tokens)

    async def condition(self, query: ast.Query) -> bool:
        """Whether a condition holds (NULL is no)."""
        answer = await run_query(self.session, compile_query(self.session, query))
        return bool(next(answer.rows)[0])

    async def filled(self, tokens: ast.Tokens) -> list[str]:
        """Words with variables replaced by their values."""
        found = []
        for token in tokens:
            known = token.kind is Kind.VARIABLE and (
                token.text[1] == "@" or token.text in self.session.frame.values
            )
            found.append(str(self.session.variable_value(token.text)) if known else token.text)
        return found

    async def formatted(self, arguments: Sequence[ast.Tokens]) -> str:
        """A text whose %1! … %20! are the arguments that follow it."""
        texts = []
        for tokens in arguments:
            type_, value = await self.value(tokens)
            texts.append("" if value is None else text_of(type_, value))
        return re.sub(r"%(\d+)!", lambda m: texts[int(m[1])] if int(m[1]) < len(texts) else m[0], texts[0])


def _chains(statement: ast.Statement) -> bool:
    """Whether a statement begins a transaction in chained mode: it reads or changes a table."""
    if isinstance(statement, ast.Query):
        return any(token.is_word("from") for token in statement.tokens)
    return isinstance(statement, _CHAINING)


class _Counting:
    """Counts rows as they are read."""

    def __init__(self, answer: QueryResult) -> None:
        self._answer = answer
        self.count = 0

    def __iter__(self) -> Iterator[Values]:
        for row in self._answer.rows:
            self.count += 1
            yield row


_HANDLERS: dict[type[ast.Statement], Callable[[Interpreter, Any], Answer]] = {
    ast.NotSimulated: Interpreter._refuse,
    ast.Query: Interpreter._query,
    ast.Command: Interpreter._command,
    ast.Execute: Interpreter._execute,
    **dict.fromkeys((ast.Insert, ast.Update, ast.Delete), Interpreter._change),
    **dict.fromkeys((ast.Truncate, ast.CreateTable, ast.DropTable), Interpreter._define),
    ast.If: Interpreter._if,
    ast.While: Interpreter._while,
    ast.Block: Interpreter._block,
    ast.Leave: Interpreter._leave,
    ast.Return: Interpreter._return,
    ast.Print: Interpreter._print,
    ast.Raiserror: Interpreter._raiserror,
    ast.Declare: Interpreter._declare,
    ast.SetVariables: Interpreter._set_variables,
    ast.WaitFor: Interpreter._waitfor,
}
# What the process tables show meanwhile.
_COMMANDS: dict[type[ast.Statement], str] = {
    ast.Query: "SELECT",
    ast.Execute: "EXECUTE",
    ast.Insert: "INSERT",
    ast.Update: "UPDATE",
    ast.Delete: "DELETE",
    ast.CreateTable: "CREATE TABLE",
    ast.DropTable: "DROP TABLE",
    ast.WaitFor: "WAITFOR",
}
