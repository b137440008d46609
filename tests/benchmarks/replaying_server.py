"""Repeats what the server at PORT of this machine answered first: `python -m tests.benchmarks.replaying_server PORT`.

Its own time is next to nothing. Prints its port.
"""

import asyncio
import sys
from functools import partial

from tests.exporter.parrot import Parrot, Recording, listening


async def serve(port: int) -> None:
    """For ever."""
    async with listening(partial(Parrot, Recording(("127.0.0.1", port)))) as [(_, own)]:
        print(own, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
