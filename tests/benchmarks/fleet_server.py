"""Many simulated servers in one process: `python -m tests.benchmarks.fleet_server GOOD FAULTY`.

Prints their ports as JSON, the faulty ones last. SIGUSR1: the faulty begin to hang, to trickle or to be mute;
SIGUSR2: they are well again. All repeat what one simulated server answers.
"""

import asyncio
import itertools
import json
import signal
import sys
from contextlib import AsyncExitStack
from functools import partial

from tests.exporter.parrot import ATTENTION, LOGIN, Parrot, Recording, listening
from tests.exporter.simulated import run

TRICKLE_BYTES, TRICKLE_SECONDS = 16, 1.0


class Faulty(Parrot):
    """Well, until `ill`."""

    ill = False
    open: set["Faulty"] = set()  # noqa: RUF012  # one for all

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        Faulty.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        Faulty.open.discard(self)

    @classmethod
    def be(cls, ill: bool) -> None:
        """From now on. Whoever is connected has to come again."""
        Faulty.ill = ill
        for connection in cls.open:
            connection.transport.abort()


class Mute(Faulty):
    def asked(self, kind: int, request: bytes) -> None:
        if not self.ill:
            super().asked(kind, request)


class Hanging(Faulty):
    def asked(self, kind: int, request: bytes) -> None:
        if not self.ill or kind in (ATTENTION, LOGIN):
            super().asked(kind, request)


class Trickling(Faulty):
    def say(self, answer: bytes) -> None:
        if not self.ill:
            super().say(answer)
        elif not self.transport.is_closing():
            self.transport.write(answer[:TRICKLE_BYTES])
            if rest := answer[TRICKLE_BYTES:]:
                asyncio.get_running_loop().call_later(TRICKLE_SECONDS, self.say, rest)


async def serve(good: int, faulty: int) -> None:
    """Until SIGTERM."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, Faulty.be, True)
    loop.add_signal_handler(signal.SIGUSR2, Faulty.be, False)
    with run("16.0 SP04", "idle", speed=0.0) as server:
        recording = Recording(server.address)
        async with AsyncExitStack() as stack:

            async def ports(kind: type[Parrot], count: int) -> list[int]:
                opened = listening(partial(kind, recording), count)
                return [port for _, port in await stack.enter_async_context(opened)]

            found = await ports(Parrot, good)
            for kind, _ in zip(itertools.cycle((Hanging, Mute, Trickling)), range(faulty), strict=False):
                found += await ports(kind, 1)
            print(json.dumps(found), flush=True)
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(*(int(argument) for argument in sys.argv[1:])))
