"""Runs a batch statement by statement, as an asynchronous stream of results."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ase_simulator.contracts import Parameter, ServerError
from ase_simulator.results import (
    Affected,
    Column,
    Disconnect,
    Ended,
    EnvChange,
    Message,
    OutputParameters,
    Result,
    ReturnStatus,
    Rows,
    Type,
)
from ase_simulator.sql.errors import MESSAGES, NotSimulatedError, SqlError, message
from ase_simulator.sql.execute import calls, commands, cursors, dml, explain
from ase_simulator.sql.execute import set_options as settings
from ase_simulator.sql.execute.calls import BoundArgument, Outcome
from ase_simulator.sql.execute.control import LeaveBatch, LeaveLoop, LeaveTo
from ase_simulator.sql.execute.evaluation import Evaluation
from ase_simulator.sql.execute.queries import QueryResult, Values, compile_query, result_set, run_query
from ase_simulator.sql.execute.target import TargetTable, client_table, converted_rows
from ase_simulator.sql.state.variables import DeclaredCursor, Frame
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.grammar import check_syntax
from ase_simulator.sql.syntax.lexer import Kind
from ase_simulator.sql.syntax.parser import parse_batch
from ase_simulator.sql.types.convert import convert, parse_moment, text_of
from ase_simulator.sql.types.rules import INT
from ase_simulator.sql.types.values import DAY, EngineValue, from_engine, microseconds, to_engine

_MAX_INFORMATION_SEVERITY = 10
_log = logging.getLogger(__name__)
_NO_PROCEDURE = 2812
_FAILED = -6
_DEADLOCK = 1205
_CHAINING = (ast.Insert, ast.Update, ast.Delete, ast.CursorAction)


# errors after which ASE runs the rest of the batch
_ENDS_ONLY_STATEMENT = frozenset({
    201, 233, 241, 515, 546, 547, 548, 911, 916, 2601, 2812, 3701, 8144, 8145, 10353, 11039, 12205, 17231,
})  # fmt: skip


class Interpreter(Evaluation):
    """One run of one batch or procedure in a session."""

    async def batch(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        """A whole batch; its variables end with it."""
        session = self.session
        if session.ended():
            if not session.locker.killed:
                yield message(6002)
            yield Disconnect()
            return
        session.activity.sql = sql
        async for result in self._batch(sql, parameters):
            yield result

    async def _batch(self, sql: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        session = self.session
        session.frame = Frame()
        self.marks = [to_engine(parameter.type)(parameter.value) for parameter in parameters]
        session.mark_types = [parameter.type for parameter in parameters]
        for name, parameter, value in zip(_names(sql, parameters), parameters, self.marks, strict=True):
            if name.startswith("@") and name not in session.frame.types:
                session.frame.declare(name, parameter.type, value)
        try:
            statements = parse_batch(sql, quoted_identifier=session.settings.quoted_identifier)
            check_syntax(statements)
        except SqlError as error:
            self._count(error)
            session.error = error.message.number
            yield error.message
            return
        try:
            async for result in self.block(statements):
                yield result
        except SqlError as error:
            session.error = error.message.number
            yield error.message
        except LeaveLoop as leave:
            yield message(136 if leave.again else 135)
        except LeaveTo as leave:
            yield message(133, leave.label)
        except LeaveBatch:
            return
        except Exception:
            _log.exception("a batch ended in a way that T-SQL has no word for: %s", sql)
            yield message(702)

    async def block(self, statements: Sequence[ast.Statement]) -> AsyncIterator[Result]:
        """Statements one after the other; an error that ends only its statement lets the next one run."""
        at = 0
        while at < len(statements):
            statement = statements[at]
            at += 1
            if self.session.locker.killed:
                yield Disconnect()
                raise LeaveBatch(0)
            try:
                async for result in self.statement(statement):
                    yield result
            except LeaveTo as leave:
                labels = [
                    getattr(each, "name", "") if isinstance(each, ast.Label) else "" for each in statements
                ]
                if leave.label not in labels:
                    raise
                at = labels.index(leave.label)
                await asyncio.sleep(0)
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
        session.transactions.settle()
        if (session.settings.noexec or session.settings.parseonly) and not isinstance(
            statement, ast.SetOption
        ):
            return
        handler = _HANDLERS[type(statement)]
        if handler.command:
            session.activity.command = handler.command
        if session.settings.chained and not session.trancount and _chains(statement):
            session.transactions.begin("", chained=True)
        try:
            if handler.acts is not None:
                await handler.acts(self, statement)
                if handler.ends:
                    yield Ended()
            if handler.answers is None:
                return
            async for result in handler.answers(self, statement):
                if isinstance(result, Message) and result.severity > _MAX_INFORMATION_SEVERITY:
                    session.error = result.number
                yield result
        except SqlError as error:
            self._count(error)
            if error.message.number == _DEADLOCK:
                session.transactions.rollback()
            raise self._placed(error, statement) from None
        except ServerError as error:
            session.error = error.message.number
            yield replace(error.message, line=statement.line)
        finally:
            session.transactions.end_statement()

    def _count(self, error: SqlError) -> None:
        """Log and count what is not simulated."""
        if isinstance(error, NotSimulatedError):
            self.session.server.faults.not_simulated(error.what)

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
        compiled = compile_query(session, statement.tokens)
        answer = await run_query(session, compiled, self.marks)
        if compiled.assigns:
            self.assign(compiled, answer)
            return
        if compiled.into is not None:
            session.rowcount, session.error = await dml.into(session, compiled, answer), 0
            yield self._affected(session.rowcount)
            return
        for notice in explain.plan(session.settings, compiled.tables, statement.line):
            yield notice
        rows = _Counting(answer)
        failed: list[SqlError] = []
        shown = result_set(compiled.columns, rows, failed, session.settings.textsize)
        shown.counted = not session.settings.nocount
        yield shown
        session.rowcount = rows.count
        session.error = 0
        for notice in explain.statistics(session.settings, compiled.tables, rows.count):
            yield notice
        if answer.notice is not None:
            yield replace(answer.notice, line=statement.line)
        if failed:
            raise failed[0]

    async def _use(self, statement: ast.Use) -> AsyncIterator[Result]:
        session = self.session
        session.enter(statement.database)
        old, session.names.database = session.database, statement.database
        yield EnvChange("database", session.database, old)
        yield message(5701, session.database)

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

    async def _set_option(self, statement: ast.SetOption) -> AsyncIterator[Result]:
        for result in settings.apply(self.session, await self.filled(statement.words)):
            yield result
        yield Ended()

    async def _transaction(self, statement: ast.Transaction) -> None:
        transactions = self.session.transactions
        if statement.action == "begin":
            transactions.begin(statement.name)
        elif statement.action == "save":
            transactions.save(statement.name)
        elif statement.action == "commit":
            transactions.commit()
        else:
            transactions.rollback(statement.name)

    async def _change(self, statement: ast.Insert | ast.Update | ast.Delete) -> AsyncIterator[Result]:
        session = self.session
        if isinstance(statement, ast.Insert):
            if statement.execute is not None:
                async for result in self._insert_from_procedure(statement, statement.execute):
                    yield result
                return
            count = await dml.insert(session, statement, self.marks)
        elif isinstance(statement, ast.Update):
            count = await dml.update(session, statement, self.marks)
        else:
            count = await dml.delete(session, statement, self.marks)
        session.rowcount, session.error = count, 0
        yield self._affected(count)

    def _affected(self, count: int) -> Result:
        return Ended() if self.session.settings.nocount else Affected(count)

    async def _insert_from_procedure(self, statement: ast.Insert, call: ast.Execute) -> AsyncIterator[Result]:
        target = TargetTable(self.session, client_table(self.session, *dml.split_name(statement.table)))
        count = 0
        async for result in self.statement(call):
            if isinstance(result, Rows):
                types = [column.type for column in result.columns]
                rows = converted_rows(types, result.rows)
                count += await dml.store(self.session, target, statement.columns, types, rows)
            else:
                yield result
        self.session.rowcount = count
        yield self._affected(count)

    async def _dbcc(self, statement: ast.Dbcc) -> AsyncIterator[Result]:
        for result in commands.run_dbcc(self.session, statement.command, statement.arguments):
            yield result

    async def _command(self, statement: ast.Command) -> AsyncIterator[Result]:
        for result in commands.run_command(self.session, await self.filled(statement.words)):
            yield result

    async def _define(self, statement: ast.Statement) -> None:
        if isinstance(statement, ast.CreateProcedure):
            self._create_procedure(statement)
        else:
            await dml.define(self.session, statement)

    def _create_procedure(self, statement: ast.CreateProcedure) -> None:
        session = self.session
        if statement.name.startswith("#"):
            session.procedures[statement.name] = statement
            return
        key = (session.database, statement.name)
        if key in session.shared.procedures and not statement.replace:
            raise SqlError(2714, statement.name)
        session.shared.procedures[key] = statement

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

    async def _goto(self, statement: ast.Goto) -> None:
        raise LeaveTo(statement.name)

    async def _label(self, statement: ast.Label) -> None:
        pass

    async def _declare_cursor(self, statement: ast.DeclareCursor) -> None:
        self.session.cursors[statement.name] = DeclaredCursor(statement.query)

    async def _cursor(self, statement: ast.CursorAction) -> AsyncIterator[Result]:
        for result in await cursors.run(self, statement):
            yield result

    async def _return(self, statement: ast.Return) -> None:
        status = 0
        if statement.value:
            source, value = await self.value(statement.value)
            returns = self.session.frame.returns
            if returns is not None:
                raise LeaveBatch(0, convert(source, returns, value, how="implicit"))
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
        if statement.kind == "time":
            now = microseconds(self.session.now()) % DAY
            moment = (moment - now) % DAY
        await self.session.sleep(moment / 1_000_000)

    async def _execute(self, statement: ast.Execute) -> AsyncIterator[Result]:
        if statement.text is not None:
            async for result in self._execute_text(statement.text):
                yield result
            return
        name = "".join(await self.filled(statement.name))
        arguments = [await self._bound_argument(argument) for argument in statement.arguments]
        outcome = Outcome()
        async for result in calls.run(self, name, arguments, outcome):
            yield result
        self._outputs(name, arguments, outcome)
        if statement.status:
            self.set_variable(statement.status, INT, outcome.status)
        if self.session.nestlevel == 0:
            yield ReturnStatus(outcome.status)
            outputs = [argument for argument in arguments if argument.variable.startswith("@")]
            if outputs and outcome.values is not None:
                columns = [
                    Column(o.name or o.variable, self.session.variable_type(o.variable)) for o in outputs
                ]
                values = [self.session.variable_value(o.variable) for o in outputs]
                yield OutputParameters(
                    columns, [_for_client(c.type, v) for c, v in zip(columns, values, strict=True)]
                )

    async def _bound_argument(self, argument: ast.Argument) -> BoundArgument:
        tokens = argument.value
        if len(tokens) == 1 and tokens[0].kind is Kind.WORD and not tokens[0].is_word("null"):
            return BoundArgument(argument.name, Type("varchar", len(tokens[0].text)), tokens[0].text)
        type_, value = await self.value(tokens)
        return BoundArgument(argument.name, type_, value, tokens[0].text if argument.output else "")

    def _outputs(self, name: str, arguments: Sequence[BoundArgument], outcome: Outcome) -> None:
        """Copies the final parameter values to the OUTPUT arguments of a call."""
        if outcome.values is None or outcome.types is None:
            return
        for place, argument in enumerate(arguments):
            if argument.variable.startswith("@"):
                parameter = argument.name or list(outcome.values)[place]
                self.set_variable(argument.variable, outcome.types[parameter], outcome.values[parameter])

    async def _execute_text(self, tokens: ast.Tokens) -> AsyncIterator[Result]:
        """EXEC(text): a separate batch that does not see this one's variables."""
        type_, value = await self.value(tokens)
        text = "" if value is None else text_of(type_, value)
        outer, self.session.frame = self.session.frame, Frame()
        try:
            for statement in parse_batch(text, quoted_identifier=self.session.settings.quoted_identifier):
                async for result in self.statement(statement):
                    yield result
        finally:
            self.session.frame = outer

    async def remote_call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        """One procedure by RPC: its results, ReturnStatus, then OutputParameters if there are any."""
        session = self.session
        session.frame = Frame()
        outcome = Outcome()
        arguments = [BoundArgument(p.name, p.type, to_engine(p.type)(p.value)) for p in parameters]
        try:
            async for result in calls.run(self, procedure, arguments, outcome):
                yield result
        except SqlError as error:
            session.error = error.message.number
            yield error.message
            if error.message.number == _NO_PROCEDURE:
                return
            outcome.status = _FAILED
        yield ReturnStatus(outcome.status)
        wanted = [(place, p) for place, p in enumerate(parameters) if p.output]
        if wanted and outcome.values is not None and outcome.types is not None:
            names = [p.name or list(outcome.values)[place] for place, p in wanted]
            columns = [Column(name, outcome.types[name]) for name in names]
            yield OutputParameters(columns, [_for_client(outcome.types[n], outcome.values[n]) for n in names])


def _chains(statement: ast.Statement) -> bool:
    """Whether a statement begins a transaction in chained mode: it reads or changes a table."""
    if isinstance(statement, ast.Query):
        return any(token.is_word("from") for token in statement.tokens)
    return isinstance(statement, _CHAINING)


def _names(sql: str, parameters: Sequence[Parameter]) -> list[str]:
    """The variables that a batch's parameters are: nameless ones are its variables in their order."""
    if not parameters or parameters[0].name:
        return [parameter.name for parameter in parameters]
    found = dict.fromkeys(re.findall(r"(?<![\w@])@\w+", sql))
    return [*found, *("" for _ in parameters)][: len(parameters)]


class _Counting:
    """Counts rows as they are read."""

    def __init__(self, answer: QueryResult) -> None:
        self._answer = answer
        self.count = 0

    def __iter__(self) -> Iterator[Values]:
        for row in self._answer.rows:
            self.count += 1
            yield row


def _for_client(type_: Type, value: EngineValue) -> object:
    shape = from_engine(type_)
    return value if shape is None else shape(value)


@dataclass(frozen=True, slots=True)
class _Handler:
    """How a kind of statement runs.

    answers: it yields results; acts: it yields none. command: what the process tables show meanwhile. ends: the client
    hears of the end of a statement without results.
    """

    answers: Callable[[Interpreter, Any], AsyncIterator[Result]] | None = None
    acts: Callable[[Interpreter, Any], Awaitable[None]] | None = None
    command: str = ""
    ends: bool = False


_HANDLERS: dict[type[ast.Statement], _Handler] = {
    ast.Query: _Handler(Interpreter._query, command="SELECT"),
    ast.Use: _Handler(Interpreter._use),
    ast.CursorAction: _Handler(Interpreter._cursor),
    ast.Dbcc: _Handler(Interpreter._dbcc, command="DBCC"),
    ast.Command: _Handler(Interpreter._command),
    ast.Execute: _Handler(Interpreter._execute, command="EXECUTE"),
    ast.Insert: _Handler(Interpreter._change, command="INSERT"),
    ast.Update: _Handler(Interpreter._change, command="UPDATE"),
    ast.Delete: _Handler(Interpreter._change, command="DELETE"),
    ast.SetOption: _Handler(Interpreter._set_option),
    ast.If: _Handler(Interpreter._if),
    ast.While: _Handler(Interpreter._while),
    ast.Block: _Handler(Interpreter._block),
    ast.Print: _Handler(Interpreter._print),
    ast.Raiserror: _Handler(Interpreter._raiserror),
    ast.Declare: _Handler(acts=Interpreter._declare),
    ast.Truncate: _Handler(acts=Interpreter._define, ends=True),
    ast.LockTable: _Handler(acts=Interpreter._define, command="LOCK TABLE", ends=True),
    ast.CreateTable: _Handler(acts=Interpreter._define, command="CREATE TABLE", ends=True),
    ast.AlterTable: _Handler(acts=Interpreter._define, command="ALTER TABLE", ends=True),
    ast.CreateIndex: _Handler(acts=Interpreter._define, ends=True),
    ast.CreateProcedure: _Handler(acts=Interpreter._define, ends=True),
    ast.Drop: _Handler(acts=Interpreter._define, command="DROP TABLE", ends=True),
    ast.SetVariables: _Handler(acts=Interpreter._set_variables),
    ast.Transaction: _Handler(acts=Interpreter._transaction, ends=True),
    ast.Leave: _Handler(acts=Interpreter._leave),
    ast.Return: _Handler(acts=Interpreter._return),
    ast.Goto: _Handler(acts=Interpreter._goto),
    ast.Label: _Handler(acts=Interpreter._label),
    ast.DeclareCursor: _Handler(acts=Interpreter._declare_cursor),
    ast.WaitFor: _Handler(acts=Interpreter._waitfor, command="WAITFOR"),
}
