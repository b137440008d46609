"""A server's answers corrupted on their way, through the real driver in real workers."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.exporter.simulated import PASSWORD, run

from ase_exporter.changes.config import ChangesConfig
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.ipc import ScrapeReply
from ase_exporter.pool import WorkerPool

TARGETS = 8
CORRUPTIONS = 24


class Corruptor:
    """A proxy that damages what the server says after the login, while it is on."""

    def __init__(self, server: tuple[str, int], seed: int) -> None:
        self.on = False
        self.done = 0
        self._server = server
        self._random = random.Random(seed)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[tuple[str, int]]:
        """Listens on the address given."""
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            yield host, port

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*self._server)
        ways = (self._pass_on(client, to_server, False), self._pass_on(server, to_client, True))
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for writer in (to_client, to_server):
            writer.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, answers: bool) -> None:
        login = True
        while data := await source.read(65536):
            damaged = self.on and answers and not login and self._random.random() < 0.2
            sink.write(self._damage(data) if damaged else data)
            await sink.drain()
            login = False

    def _damage(self, data: bytes) -> bytes:
        self.done += 1
        damaged = bytearray(data)
        for _ in range(self._random.choice((1, 1, 1, 4, 16))):
            damaged[self._random.randrange(len(damaged))] = self._random.randrange(256)
        cut = self._random.randrange(len(damaged) + 1)
        return bytes(self._random.choice((damaged, damaged, damaged[:cut], damaged + damaged[cut:])))


def sizes(reply: ScrapeReply) -> set[str]:
    return {line for line in reply.body.decode().splitlines() if line.startswith("ase_cache_size_bytes{")}


def test_corrupted_answers_cost_no_more_than_their_scrape() -> None:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:

        async def scrape(pool: WorkerPool, name: str, seconds: float) -> ScrapeReply:
            collectors = frozenset({"state", "data_caches", "spinlocks"})
            return await pool.scrape(name, time.monotonic() + seconds, collectors=collectors)

        async def main() -> None:
            corruptor = Corruptor(server.address, seed=11)
            names = [f"S{number}" for number in range(TARGETS)]
            async with corruptor.listening() as (host, port):
                config = Config(
                    targets=tuple(Target(name=name, host=host, port=port) for name in names),
                    auth={"default": Auth(user="monitor", password=PASSWORD)},
                    changes=ChangesConfig(enabled=False),
                    scrape=Scrape(connect_timeout=60.0),
                    workers=2,
                )
                pool = WorkerPool(config)
                await pool.start()
                try:
                    right = sizes(await scrape(pool, names[0], 60))
                    assert right
                    corruptor.on = True
                    while corruptor.done < CORRUPTIONS:
                        for reply in await asyncio.gather(*(scrape(pool, name, 2) for name in names)):
                            assert b"internal" not in reply.body
                    corruptor.on = False
                    # What was planned from corrupted facts is planned anew.
                    await asyncio.to_thread(server.drop)
                    for name in names:
                        replies = [await scrape(pool, name, 60) for _ in range(2)]
                        assert replies[-1].up, replies[-1].error
                        assert sizes(replies[-1]) == right
                finally:
                    await pool.stop()

        asyncio.run(main())
