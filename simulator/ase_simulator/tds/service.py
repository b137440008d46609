"""A logged-in session's requests."""

import asyncio

from ase_simulator.contracts import Session
from ase_simulator.faults import Faults
from ase_simulator.results import Message
from ase_simulator.tds import tokens
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.packets import ClientMessage, PacketType, ProtocolError, Reply
from ase_simulator.tds.reply_writer import ReplyWriter
from ase_simulator.tds.requests import Language, Logout, NotSimulated, Request, read_requests
from ase_simulator.tds.tokens import Done


class Service:
    """Answers the requests of one session; `respond` may be cancelled at any await."""

    def __init__(self, session: Session, dialect: Dialect, reply: Reply, server: str, faults: Faults) -> None:
        self._session = session
        self._dialect = dialect
        self._reply = reply
        self._server = server
        self._faults = faults

    async def respond(self, message: ClientMessage) -> bool:
        """Answer one message; False after a logout."""
        answer = ReplyWriter(self._reply, self._dialect, self._server, self._faults)
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
        self._reply.add(tokens.done(Done.ATTENTION))
        await self._reply.finish()

    async def _serve(self, request: Request, answer: ReplyWriter) -> None:
        match request:
            case Language(sql):
                if self._faults.hang and self._faults.strikes(sql):
                    await asyncio.Event().wait()
                await answer.batch(self._session.execute(sql), sql)
            case NotSimulated(what):
                self._faults.not_simulated(what)
                answer.error(Message(20999, 16, 1, f"not simulated: {what}"))
            case _:
                answer.done()
