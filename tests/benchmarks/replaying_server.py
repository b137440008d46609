"""Plays back what the server at PORT of this machine answers: `python -m tests.benchmarks.replaying_server PORT`.

Its own time is next to nothing, and its values move: the first connection is passed on to the server, and every
answer is kept, in order. A line on standard input ends the recording. From then on each connection gets the answers
to each of its requests in that order; the last answer is repeated. Prints its port.
"""

import asyncio
import sys
from collections import Counter, defaultdict
from functools import partial

from tests.exporter.parrot import LOGIN, Parrot, Recording, listening


class Film(Recording):
    """All answers by request, in the order in which they were given."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address)
        self.takes: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self.recording = True

    def known(self, request: bytes) -> bytes | None:
        """None while recording: every request is passed on."""
        return None if self.recording else super().known(request)

    async def ask(self, request: bytes) -> bytes:
        """The answer, kept as the last one to this request."""
        answer = await super().ask(request)
        if self.recording:
            self.takes[_key(request)].append(answer)
        return answer


class Projector(Parrot):
    """One connection, which sees the film from its beginning."""

    recording: Film

    def __init__(self, film: Film) -> None:
        super().__init__(film)
        self._shown: Counter[bytes] = Counter()

    def asked(self, kind: int, request: bytes) -> None:
        takes = self.recording.takes.get(_key(request), [])
        if self.recording.recording or not takes:
            super().asked(kind, request)
            return
        number = self._shown[_key(request)]
        self._shown[_key(request)] += 1
        self.say(takes[min(number, len(takes) - 1)])


def _key(request: bytes) -> bytes:
    return b"" if request[0] == LOGIN else request


async def serve(port: int) -> None:
    """For ever."""
    film = Film(("127.0.0.1", port))
    async with listening(partial(Projector, film)) as [(_, own)]:
        print(own, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        film.recording = False
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
