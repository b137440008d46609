"""Listens on one address and serves connections from a backend."""

import asyncio
from types import TracebackType
from typing import Self

from ase_simulator.contracts import Backend
from ase_simulator.faults import Faults
from ase_simulator.tds.connection import Connection, reset

_BACKLOG = 512


class Listener:
    """One simulated server on one port; use it as an asynchronous context manager.

    port 0: any free port.
    """

    def __init__(
        self,
        backend: Backend,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        faults: Faults | None = None,
    ) -> None:
        self.faults = faults or Faults()
        self._backend = backend
        self._address = (host, port)
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that are listened on."""
        return self._address

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def __aenter__(self) -> Self:
        """Raises OSError if the address is not available."""
        host, port = self._address
        self._server = await asyncio.start_server(
            self._accept, host, port, backlog=_BACKLOG, reuse_address=True
        )
        self._address = (host, self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.drop()
        await self.drained()

    def drop(self) -> None:
        for connection in self._connections:
            connection.cancel()

    async def drained(self) -> None:
        """Wait until every connection that is open now has ended."""
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.faults.refuse:
            reset(writer)
            return
        connection = Connection(self._backend, self.faults, reader, writer)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
