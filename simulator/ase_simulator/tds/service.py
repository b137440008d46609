"""A logged-in session's requests: batches, procedures, prepared statements."""

import asyncio
import re

from ase_simulator.contracts import Description, Parameter, Session
from ase_simulator.faults import Faults
from ase_simulator.results import Message
from ase_simulator.tds import tokens
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.packets import ClientMessage, PacketType, ProtocolError, Reply
from ase_simulator.tds.reply_writer import ReplyWriter
from ase_simulator.tds.requests import (
    CursorRequest,
    Dynamic,
    DynamicKind,
    Language,
    Logout,
    OptionCommand,
    Request,
    RpcRequest,
    read_requests,
)
from ase_simulator.tds.rows import RowFormat, parameter_formats
from ase_simulator.tds.tokens import Done
from ase_simulator.tds.types import wire_type

MAX_STATEMENTS = 1000
_OPTION_SET, _OPTION_DEFAULT, _OPTION_LIST = 1, 2, 3

# clients wrap what they prepare as `create proc NAME as STATEMENT`
_WRAPPER = re.compile(r"\s*create\s+proc(?:edure)?\s+\S+\s+as\s", re.IGNORECASE)


class Service:
    """Answers the requests of one session; `respond` may be cancelled at any await."""

    def __init__(self, session: Session, dialect: Dialect, reply: Reply, server: str, faults: Faults) -> None:
        self._session = session
        self._dialect = dialect
        self._reply = reply
        self._server = server
        self._faults = faults
        self._statements: dict[str, str] = {}
        self._options: dict[int, bytes] = {}

    async def respond(self, message: ClientMessage) -> bool:
        """Answer one message; False after a logout."""
        answer = ReplyWriter(self._reply, self._dialect, self._server, self._faults, self._session)
        if message.kind is PacketType.BULK:
            raise ProtocolError("data without INSERT BULK or WRITETEXT BULK")
        keep_open = True
        for request in read_requests(message.body, self._dialect):
            if isinstance(request, Logout):
                answer.done()
                keep_open = False
                break
            await self._serve(request, answer)
        await answer.finish()
        return keep_open

    async def acknowledge_attention(self) -> None:
        """Acknowledge an attention: the end of an interrupted reply, or a separate reply."""
        self._reply.add(tokens.done(self._dialect, Done.ATTENTION))
        await self._reply.finish()

    async def _serve(self, request: Request, answer: ReplyWriter) -> None:
        match request:
            case Language(sql, parameters):
                await self._run(answer, sql, parameters)
            case RpcRequest(procedure, parameters):
                await self._hang_if_scripted(procedure)
                await answer.procedure(self._session.call(procedure, parameters), procedure)
            case Dynamic():
                await self._dynamic(request, answer)
            case CursorRequest():
                self._faults.not_simulated("cursors of client libraries")
                answer.error(Message(20999, 16, 1, "not simulated: cursors of client libraries"))
            case OptionCommand():
                self._option(request, answer)
            case _:
                answer.done()

    def _option(self, request: OptionCommand, answer: ReplyWriter) -> None:
        """Options of the protocol are kept and told, and change nothing; T-SQL's SET has its own."""
        if request.command == _OPTION_SET:
            self._options[request.option] = request.value
        elif request.command == _OPTION_DEFAULT:
            self._options.pop(request.option, None)
        elif request.command == _OPTION_LIST:
            value = self._options.get(request.option, b"\0")
            answer.add(tokens.option_info(self._dialect, request.option, value))
        answer.done()

    async def _run(self, answer: ReplyWriter, sql: str, parameters: list[Parameter]) -> None:
        await self._hang_if_scripted(sql)
        await answer.batch(self._session.execute(sql, parameters), sql)

    async def _hang_if_scripted(self, request: str) -> None:
        if self._faults.hang and self._faults.strikes(request):
            await asyncio.Event().wait()

    async def _dynamic(self, request: Dynamic, answer: ReplyWriter) -> None:
        if request.kind is DynamicKind.EXECUTE_IMMEDIATE:
            await self._run(answer, request.sql, request.parameters)
            return
        if request.kind is DynamicKind.PREPARE:
            self._prepare(request, answer)
            return
        sql = self._statements.get(request.id)
        if sql is None:
            answer.error(_missing_statement(request.id))
            return
        match request.kind:
            case DynamicKind.EXECUTE:
                answer.add(tokens.dynamic_answer(self._dialect, request.id, wide=request.wide))
                await self._run(answer, sql, request.parameters)
            case DynamicKind.DEALLOCATE:
                del self._statements[request.id]
                self._acknowledge(request, answer)
            case _:
                self._describe(request, sql, answer)

    def _prepare(self, request: Dynamic, answer: ReplyWriter) -> None:
        wrapper = _WRAPPER.match(request.sql)
        sql = request.sql[wrapper.end() :] if wrapper else request.sql
        if len(self._statements) >= MAX_STATEMENTS:
            answer.error(Message(1601, 17, 1, f"There are more than {MAX_STATEMENTS} prepared statements."))
            return
        if self._describe(request, sql, answer):
            self._statements[request.id] = sql

    def _acknowledge(self, request: Dynamic, answer: ReplyWriter) -> None:
        answer.add(tokens.dynamic_answer(self._dialect, request.id, wide=request.wide))
        answer.done()

    def _describe(self, request: Dynamic, sql: str, answer: ReplyWriter) -> bool:
        """Acknowledge with the statement's parameters and columns; False if it is in error."""
        described = self._session.describe(sql)
        if isinstance(described, Message):
            answer.error(described)
            return False
        answer.add(tokens.dynamic_answer(self._dialect, request.id, wide=request.wide))
        if request.kind is not DynamicKind.DESCRIBE_OUTPUT:
            self._add_parameter_formats(described, answer)
        if request.kind is not DynamicKind.DESCRIBE_INPUT and described.columns:
            answer.add(RowFormat(described.columns, self._dialect).encode())
        answer.done()
        return True

    def _add_parameter_formats(self, described: Description, answer: ReplyWriter) -> None:
        types = [("", wire_type(kind, True, self._dialect)) for kind in described.parameters]
        if types:
            answer.add(parameter_formats(self._dialect, types))


def _missing_statement(name: str) -> Message:
    text = (
        f"Stored procedure '{name}' not found. Specify owner.objectname or use sp_help to check whether the "
        "object exists (sp_help may produce lots of output)."
    )
    return Message(2812, 16, 5, text)
