"""A logged-in session's requests: batches, procedures, prepared statements, cursors."""

import asyncio
import re
from collections.abc import AsyncIterator

from ase_simulator.contracts import Description, Parameter, ServerError, Session
from ase_simulator.faults import Faults
from ase_simulator.results import Affected, BulkTarget, Ended, Message, Result, Rows, TextTarget
from ase_simulator.tds import tokens
from ase_simulator.tds.bulk import BulkReader, read_text
from ase_simulator.tds.cursors import Cursors, ServerCursor
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.packets import ClientMessage, PacketType, ProtocolError, Reply
from ase_simulator.tds.reply_writer import MAX_INFORMATION_SEVERITY, ReplyWriter, closing
from ase_simulator.tds.requests import (
    CursorClose,
    CursorDeclare,
    CursorFetch,
    CursorOpen,
    CursorRows,
    Dynamic,
    DynamicKind,
    FetchDirection,
    Language,
    Logout,
    OptionCommand,
    Request,
    RpcRequest,
    read_requests,
)
from ase_simulator.tds.rows import RowFormat, parameter_formats
from ase_simulator.tds.tokens import CursorStatus, Done
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
        self._cursors = Cursors()
        self._options: dict[int, bytes] = {}
        self._awaited: BulkTarget | TextTarget | None = None

    async def respond(self, message: ClientMessage) -> bool:
        """Answer one message; False after a logout."""
        answer = ReplyWriter(self._reply, self._dialect, self._server, self._faults, self._session)
        awaited, self._awaited = self._awaited, None
        if message.kind is PacketType.BULK:
            if awaited is None:
                raise ProtocolError("data without INSERT BULK or WRITETEXT BULK")
            await answer.batch(_stored(awaited, message.body, self._dialect), "")
            await answer.finish()
            return True
        keep_open = True
        for request in read_requests(message.body, self._dialect):
            if isinstance(request, Logout):
                answer.done()
                keep_open = False
                break
            await self._serve(request, answer)
        await answer.finish()
        self._awaited = answer.awaited
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
            case CursorDeclare():
                self._declare(request, answer)
            case CursorRows(id=number, name=name) | CursorOpen(id=number, name=name):
                await self._with_cursor(request, number, name, answer)
            case CursorFetch(id=number, name=name) | CursorClose(id=number, name=name):
                await self._with_cursor(request, number, name, answer)
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

    def _declare(self, request: CursorDeclare, answer: ReplyWriter) -> None:
        sql = request.sql
        if request.prepared:
            if sql not in self._statements:
                answer.error(_missing_statement(sql))
                return
            sql = self._statements[sql]
        described = self._session.describe(sql)
        if isinstance(described, Message):
            answer.error(described)
            return
        cursor = self._cursors.declare(request.name, sql)
        if cursor is None:
            text = f"There is already another cursor with the name '{request.name}' at the nesting level '0'."
            answer.error(Message(7344, 16, 1, text))
            return
        self._inform(cursor, CursorStatus.DECLARED, answer)
        answer.done()

    async def _with_cursor(
        self,
        request: CursorRows | CursorOpen | CursorFetch | CursorClose,
        number: int,
        name: str,
        answer: ReplyWriter,
    ) -> None:
        cursor = self._cursors.find(number, name)
        if cursor is None:
            answer.error(Message(557, 16, 1, f"DECLARE CURSOR for cursor '{name or number}' was not found."))
            return
        match request:
            case CursorRows(rows=rows):
                cursor.fetch_size = max(1, rows)
                self._inform(cursor, self._state(cursor) | CursorStatus.ROW_COUNT, answer)
                answer.done()
            case CursorOpen(parameters=parameters):
                await self._open(cursor, parameters, answer)
            case CursorFetch():
                await self._fetch(cursor, request.direction, answer)
            case CursorClose(deallocate=deallocate):
                self._close(cursor, deallocate, answer)

    @staticmethod
    def _state(cursor: ServerCursor) -> CursorStatus:
        return CursorStatus.DECLARED if cursor.rows is None else CursorStatus.OPEN

    def _inform(self, cursor: ServerCursor, status: int, answer: ReplyWriter) -> None:
        status |= CursorStatus.READ_ONLY
        answer.add(tokens.cursor_info(self._dialect, cursor.id, status, cursor.fetch_size))

    async def _open(self, cursor: ServerCursor, parameters: list[Parameter], answer: ReplyWriter) -> None:
        await self._hang_if_scripted(cursor.sql)
        if cursor.rows is not None:
            answer.error(Message(7346, 16, 1, f"The cursor '{cursor.name}' is already open."))
            return
        results = self._session.execute(cursor.sql, parameters)
        failed = False
        async with closing(results):
            async for result in results:
                if isinstance(result, Rows) and cursor.rows is None:
                    cursor.columns, cursor.rows = result.columns, iter(list(result.rows))
                elif isinstance(result, Message):
                    failed = failed or result.severity > MAX_INFORMATION_SEVERITY
                    answer.add(tokens.message(self._dialect, self._server, result))
        if failed or cursor.rows is None:
            cursor.rows = None
            answer.done(Done.ERROR)
            return
        self._inform(cursor, CursorStatus.OPEN, answer)
        answer.add(RowFormat(cursor.columns, self._dialect).encode())
        answer.done()

    async def _fetch(self, cursor: ServerCursor, direction: FetchDirection, answer: ReplyWriter) -> None:
        if cursor.rows is None:
            answer.error(Message(559, 16, 1, f"Attempt to use cursor '{cursor.name}' which is not open."))
            return
        if direction is not FetchDirection.NEXT:
            text = f"The fetch type can only be NEXT for the non-scrollable cursor '{cursor.name}'."
            answer.error(Message(588, 16, 1, text))
            return
        rows = Rows(cursor.columns, cursor.fetch())
        count = await answer.rows(rows, cursor.sql, formatted=True)
        answer.done(Done.COUNT, count)

    def _close(self, cursor: ServerCursor, deallocate: bool, answer: ReplyWriter) -> None:
        cursor.rows = None
        status = CursorStatus.CLOSED
        if deallocate:
            self._cursors.forget(cursor)
            status |= CursorStatus.DEALLOCATED
        self._inform(cursor, status, answer)
        answer.done()


async def _stored(target: BulkTarget | TextTarget, body: bytes, dialect: Dialect) -> AsyncIterator[Result]:
    """Stores what a client sends after INSERT BULK or WRITETEXT BULK."""
    try:
        if isinstance(target, BulkTarget):
            types, rows = BulkReader(target, dialect).rows(body)
            target.store(types, rows)
            yield Affected(len(rows))
        else:
            target.store(read_text(body, target.type, dialect))
            yield Ended()
    except ServerError as error:
        yield error.message


def _missing_statement(name: str) -> Message:
    text = (
        f"Stored procedure '{name}' not found. Specify owner.objectname or use sp_help to check whether the "
        "object exists (sp_help may produce lots of output)."
    )
    return Message(2812, 16, 5, text)
