"""Writes the reply to one message: encodes results as tokens and places every DONE."""

import asyncio
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ase_simulator.contracts import ServerError
from ase_simulator.faults import Break, Faults
from ase_simulator.results import (
    Affected,
    Disconnect,
    Ended,
    EnvChange,
    Message,
    Result,
    ReturnStatus,
    Rows,
)
from ase_simulator.tds import tokens
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.packets import Reply
from ase_simulator.tds.rows import RowFormat
from ase_simulator.tds.tokens import Done, DoneToken

MAX_INFORMATION_SEVERITY = 10
# ASE's message for a value outside its type.
ARITHMETIC_OVERFLOW = Message(3606, 16, 0, "Arithmetic overflow occurred.\n")
_GARBAGE = b"\x01\x02\x03"


class DisconnectError(Exception):
    """The backend or a fault ends this connection; reset: with RST instead of FIN."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


@asynccontextmanager
async def closing(results: AsyncIterator[Result]) -> AsyncIterator[None]:
    """Closes a generator of results, also if its reader is cancelled between two of them."""
    try:
        yield
    finally:
        if isinstance(results, AsyncGenerator):
            await results.aclose()


class ReplyWriter:
    """Writes one reply. A DONE is held back until it is clear whether more follows."""

    def __init__(self, reply: Reply, dialect: Dialect, server: str, faults: Faults) -> None:
        self._reply = reply
        self._dialect = dialect
        self._server = server
        self._faults = faults
        self._held: tuple[DoneToken, int, int] | None = None

    def add(self, token: bytes) -> None:
        """Append a token, after the DONE that was held back."""
        self._release()
        self._reply.add(token)

    def done(self, status: int = Done.FINAL, count: int = 0, token: DoneToken = DoneToken.DONE) -> None:
        """The end of a statement or request."""
        self._release()
        self._held = (token, status, count)

    async def finish(self) -> None:
        """End the reply; the DONE that is held back becomes final."""
        token, status, count = self._held or (DoneToken.DONE, Done.FINAL, 0)
        self._held = None
        self._reply.add(tokens.done(status, count, token))
        await self._reply.finish()

    async def batch(self, results: AsyncIterator[Result], request: str) -> None:
        """Write the results of a batch; a return status in it is followed by DONEPROC."""
        async with closing(results):
            async for result in results:
                await self._write(result, request)
        if self._held is None:
            self.done()

    def error(self, message: Message) -> None:
        """Write a message; an error ends its statement."""
        self.add(tokens.message(self._dialect, self._server, message))
        if message.severity > MAX_INFORMATION_SEVERITY:
            self.done(Done.ERROR)

    async def _rows(self, rows: Rows, request: str) -> int:
        """Write a result set; returns the number of rows."""
        row_format = RowFormat(rows.columns, self._dialect)
        self.add(row_format.encode())
        faults = self._faults
        if (faults.seconds_per_row or faults.broken) and faults.strikes(request):
            return await self._faulty_rows(row_format, rows, faults.seconds_per_row, faults.broken)
        total = 0
        for count, block in row_format.blocks(rows.rows):
            total += count
            self._reply.add(block)
            await self._reply.send()
            await asyncio.sleep(0)  # A fast client must not starve the others.
        return total

    async def _faulty_rows(
        self, row_format: RowFormat, rows: Rows, seconds_per_row: float, broken: Break | None
    ) -> int:
        total = 0
        for row in rows.rows:
            if broken and total == broken.after_rows:
                await self._break(broken, row_format, row)
            self._reply.add(row_format.write(row))
            total += 1
            if seconds_per_row:
                await self._reply.push()
                await asyncio.sleep(seconds_per_row)
        return total

    async def _break(self, broken: Break, row_format: RowFormat, row: Sequence[object]) -> None:
        if broken.how == "garbage":
            self._reply.add(_GARBAGE)
            await self._reply.finish()
        else:
            self._reply.add(row_format.write(row)[:-1])
            await self._reply.push()
        raise DisconnectError(reset=broken.how == "reset")

    async def _write(self, result: Result, request: str) -> None:
        try:
            await self._write_result(result, request)
        except ServerError as error:
            self.error(error.message)
        except (ArithmeticError, struct.error):
            self.error(ARITHMETIC_OVERFLOW)

    async def _write_result(self, result: Result, request: str) -> None:
        dialect = self._dialect
        match result:
            case Rows():
                count = await self._rows(result, request)
                self.done(Done.COUNT if result.counted else Done.FINAL, count)
            case Affected(count):
                self.done(Done.COUNT, count)
            case Ended():
                self.done()
            case Message():
                self.error(result)
            case EnvChange():
                self.add(tokens.environment(dialect, result))
            case ReturnStatus(value):
                self.add(tokens.return_status(value))
                self.done(token=DoneToken.DONEPROC)
            case Disconnect():
                await self._reply.push()
                raise DisconnectError

    def _release(self) -> None:
        if self._held is not None:
            token, status, count = self._held
            self._held = None
            self._reply.add(tokens.done(status | Done.MORE, count, token))
