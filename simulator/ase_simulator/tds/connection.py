"""One connection: login, then messages and requests until either side ends it."""

import asyncio
import logging
import re
import socket
import struct
from collections import deque
from contextlib import suppress
from dataclasses import replace

from ase_simulator.contracts import Backend, LoginRequest, Session
from ase_simulator.faults import Faults
from ase_simulator.results import EnvChange, Message
from ase_simulator.tds import tokens
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.login import LoginRecord, PasswordExchange, read_login
from ase_simulator.tds.packets import (
    DEFAULT_SIZE,
    MAX_MESSAGE,
    MAX_SIZE,
    ClientMessage,
    MessageReader,
    PacketType,
    ProtocolError,
    Reply,
)
from ase_simulator.tds.reply_writer import DisconnectError, closing
from ase_simulator.tds.requests import SecurityMessage, read_requests
from ase_simulator.tds.service import Service
from ase_simulator.tds.tokens import Done, LoginStatus

log = logging.getLogger(__name__)

SECONDS_TO_CLOSE = 0.5
CHOSEN_SIZE = 2048
MAX_REQUESTS_AHEAD = 16
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?: SP(\d+))?")


class Connection:
    """Serves one client. `run` returns when the connection is over, whoever ended it, and never raises."""

    def __init__(
        self, backend: Backend, faults: Faults, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._backend = backend
        self._faults = faults
        self._writer = writer
        self._messages = MessageReader(reader)
        self._reply = Reply(writer)
        self._next: asyncio.Task[ClientMessage | None] | None = None
        self._version = version_number(backend.version)

    async def run(self) -> None:
        peer = self._writer.get_extra_info("peername")
        try:
            await self._serve(str(peer[0]) if peer else "")
        except ProtocolError as error:
            log.info("%s: %s", peer, error)
        except DisconnectError as end:
            if end.reset:
                reset(self._writer)
        except (ConnectionError, TimeoutError) as error:
            log.info("%s: %r", peer, error)
        except Exception:
            log.exception("%s: this connection ends", peer)
        finally:
            await self._close()

    async def _close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, ProtocolError):
                await self._next
        self._writer.close()
        try:
            async with asyncio.timeout(SECONDS_TO_CLOSE):
                await self._writer.wait_closed()
        except OSError:  # including TimeoutError: the client does not read the rest
            self._writer.transport.abort()

    async def _serve(self, address: str) -> None:
        if self._faults.mute:
            await self._ignore_all()
            return
        opened = await self._login(address)
        if opened is None:
            return
        session, dialect = opened
        try:
            await self._requests(session, dialect)
        finally:
            session.close()

    async def _ignore_all(self) -> None:
        while await self._messages.next() is not None:
            pass

    async def _login(self, address: str) -> tuple[Session, Dialect] | None:
        first = await self._messages.next()
        if first is None:
            return None
        if first.kind is not PacketType.LOGIN:
            raise ProtocolError(f"a message of type {first.kind} before login")
        record = read_login(first.body, self._backend.charset, address)
        request = record.request
        if record.encrypted:
            request = await self._decrypted(record)
        session = self._backend.login(request)
        if isinstance(session, Message):
            await self._refuse(record.dialect, session)
            return None
        try:
            await self._run_login_trigger(session)
            await self._welcome(session, record)
        except BaseException:
            session.close()
            raise
        self._messages.limit = MAX_MESSAGE
        return session, record.dialect

    async def _decrypted(self, record: LoginRecord) -> LoginRequest:
        dialect = record.dialect
        exchange = PasswordExchange()
        self._reply.add(tokens.login_answer(LoginStatus.NEGOTIATE, self._version))
        self._reply.add(exchange.challenge(dialect))
        self._reply.add(tokens.done(Done.FINAL))
        await self._reply.finish()
        message = await self._messages.next()
        if message is None or message.kind is not PacketType.NORMAL:
            raise ProtocolError("no password after the key")
        answers = [a for a in read_requests(message.body, dialect) if isinstance(a, SecurityMessage)]
        return replace(record.request, password=exchange.password(answers, dialect), encrypted=True)

    async def _refuse(self, dialect: Dialect, why: Message) -> None:
        self._reply.add(tokens.message(dialect, self._backend.name, why))
        self._reply.add(tokens.login_answer(LoginStatus.FAIL, self._version))
        self._reply.add(tokens.done(Done.ERROR))
        await self._reply.finish()

    async def _welcome(self, session: Session, record: LoginRecord) -> None:
        dialect, request = record.dialect, record.request
        # The client lets the server choose a larger one.
        size = min(max(record.packet_size, CHOSEN_SIZE), MAX_SIZE)
        self._reply.add(tokens.environment(dialect, EnvChange("database", session.database, "")))
        self._notice(dialect, 5701, f"Changed database context to '{session.database}'.\n")
        self._reply.add(tokens.environment(dialect, EnvChange("language", request.language, "")))
        self._notice(dialect, 5703, f"Changed language setting to '{request.language}'.\n")
        self._reply.add(tokens.environment(dialect, EnvChange("charset", request.charset, "")))
        if record.named_charset:
            self._notice(dialect, 5704, f"Changed client character set setting to '{request.charset}'.\n")
        self._reply.add(tokens.packet_size(dialect, size, DEFAULT_SIZE))
        self._reply.add(tokens.login_answer(LoginStatus.SUCCEED, self._version))
        self._reply.add(tokens.capabilities(record.capabilities))
        self._reply.add(tokens.done(Done.FINAL))
        await self._reply.finish()
        self._reply.size = size

    def _notice(self, dialect: Dialect, number: int, text: str) -> None:
        self._reply.add(tokens.message(dialect, self._backend.name, Message(number, 10, 1, text)))

    async def _run_login_trigger(self, session: Session) -> None:
        """Run the login trigger, whose settings last; its messages and rows go to no client."""
        if self._faults.login_trigger:
            results = session.execute(self._faults.login_trigger)
            async with closing(results):
                async for _ in results:
                    pass

    async def _requests(self, session: Session, dialect: Dialect) -> None:
        service = Service(session, dialect, self._reply, self._backend.name, self._faults)
        waiting: deque[ClientMessage] = deque()
        while (message := await self._take(waiting)) is not None:
            if message.kind is PacketType.ATTENTION:
                if not self._faults.ignore_attention:
                    await service.acknowledge_attention()
                continue
            work = asyncio.create_task(service.respond(message))
            try:
                keep_open = await self._watch(work, waiting)
            finally:
                await _cancelled(work)
            if not keep_open:
                return

    async def _take(self, waiting: deque[ClientMessage]) -> ClientMessage | None:
        if waiting:
            return waiting.popleft()
        message = await self._read_ahead()
        self._next = None
        return message

    def _read_ahead(self) -> asyncio.Task[ClientMessage | None]:
        if self._next is None:
            self._next = asyncio.create_task(self._messages.next())
        return self._next

    async def _watch(self, work: asyncio.Task[bool], waiting: deque[ClientMessage]) -> bool:
        """Wait for the end of a request, which the client may interrupt; False if the client disconnected."""
        while True:
            await asyncio.wait({work, self._read_ahead()}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            message = self._read_ahead().result()
            self._next = None
            if message is None:
                return False
            if message.kind is PacketType.ATTENTION and self._faults.ignore_attention:
                continue
            waiting.append(message)
            if message.kind is PacketType.ATTENTION:
                return True
            if len(waiting) > MAX_REQUESTS_AHEAD:
                raise ProtocolError(f"more than {MAX_REQUESTS_AHEAD} requests while one runs")


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST: what is unsent is lost."""
    linger_for_nothing = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_for_nothing)
    writer.transport.abort()


def version_number(banner: str) -> bytes:
    """Four bytes: release, major, and minor or the service pack that follows them, then 0."""
    found = _VERSION.search(banner)
    release, major, minor, pack = found.groups(default="0") if found else ("0", "0", "0", "0")
    return bytes((int(release), int(major), max(int(minor), int(pack)), 0))


async def _cancelled(work: asyncio.Task[bool]) -> None:
    if not work.done():
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
