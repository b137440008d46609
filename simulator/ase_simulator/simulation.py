"""Puts a model, its T-SQL front end and its listener together."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from ase_simulator.model.server import SimulatedServer
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import Login


@asynccontextmanager
async def simulation(
    server: SimulatedServer,
    logins: Iterable[Login] | None,
    host: str,
    port: int,
) -> AsyncIterator[Listener]:
    """Serve a model and play its scenario; raises OSError if the address is not available."""
    async with Listener(SqlBackend(server, logins), host, port, faults=server.faults) as listener:
        server.on_drop(listener.drop)
        play = asyncio.create_task(server.play())
        try:
            yield listener
        finally:
            play.cancel()
            with suppress(asyncio.CancelledError):
                await play
