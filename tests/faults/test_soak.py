"""Very many scrapes with faults among them: nothing grows, on neither side."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.exporter.parrot import ATTENTION, HEADER, Recording, listening
from tests.exporter.running_exporter import configuration
from tests.exporter.scraper import scraped
from tests.exporter.simulated import run
from tests.faults.corruption import Campaign, Watched

SCRAPES = 50_000
SAMPLES = 20
TARGETS = 16
# One request in so many meets a fault; a scrape has two or three, and some ten where one failed.
EVERY = 30
# A scrape that hangs or trickles costs this much and no more.
SECONDS = 3.0
# What is known of each target, and what the allocator keeps, settles in the first samples.
SETTLED = 5
GROWTH = 8 << 20


class Moody(Watched):
    """Now and then closes, resets, says nothing (to an attention either), trickles, or sends garbage."""

    _silent = _deaf = False

    def asked(self, kind: int, request: bytes) -> None:
        if kind == ATTENTION:
            self._silent = False
        if not self._deaf and not self._silent:
            super().asked(kind, request)

    def say(self, answer: bytes) -> None:
        if self.campaign.chance.randrange(EVERY):
            super().say(answer)
            return
        faults: tuple[Callable[[bytes], None], ...] = (
            self.close, self.cut, self.reset, self.hang, self.ignore, self.trickle, self.garble,
        )  # fmt: skip
        fault = self.campaign.chance.choice(faults)
        self.campaign.made[fault.__name__] += 1
        fault(answer)

    def close(self, _: bytes) -> None:
        self.transport.close()

    def cut(self, answer: bytes) -> None:
        self.transport.write(answer[: len(answer) // 2])
        self.transport.close()

    def reset(self, _: bytes) -> None:
        self.transport.abort()

    def hang(self, _: bytes) -> None:
        self._silent = True

    def ignore(self, _: bytes) -> None:
        self._deaf = True

    def trickle(self, answer: bytes) -> None:
        if answer and not self.transport.is_closing():
            self.transport.write(answer[:16])
            asyncio.get_running_loop().call_later(1.0, self.trickle, answer[16:])

    def garble(self, answer: bytes) -> None:
        self.transport.write(answer[: HEADER.size] + b"\x01" + answer[HEADER.size + 1 :])


@dataclass(frozen=True)
class Sample:
    """Resident bytes of each process, the supervisor first; descriptors of all; connections that the servers have."""

    resident: list[int]
    descriptors: int
    connections: int


async def soak(directory: Path, scrapes: int) -> tuple[list[Sample], Campaign, Counter[str]]:
    """So many scrapes; samples while nothing is under way."""
    moods = Campaign(random.Random(3))
    samples: list[Sample] = []
    names = [f"S{number}" for number in range(TARGETS)]
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        recording = Recording(server.address)
        async with listening(lambda: Moody(recording, moods), TARGETS) as addresses:
            settings = configuration(dict(zip(names, addresses, strict=True)), scrape={}, changes={})
            async with scraped(directory, settings) as (running, scraper):

                async def some(name: str) -> None:
                    for _ in range(-(-scrapes // (SAMPLES * TARGETS))):
                        await scraper.scrape(name, time.monotonic(), SECONDS)

                for _ in range(SAMPLES):
                    await asyncio.gather(*map(some, names))
                    processes = running.processes()
                    resident = [each.memory_info().rss for each in processes]
                    descriptors = sum(each.num_fds() for each in processes)
                    samples.append(Sample(resident, descriptors, len(moods.open)))
        recording.close()
    return samples, moods, Counter(scrape.missed for scrape in scraper.scrapes)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_fifty_thousand_scrapes_with_faults_among_them_leave_nothing_behind(tmp_path: Path) -> None:
    samples, moods, ends = asyncio.run(soak(tmp_path, SCRAPES))
    first, last = samples[SETTLED], samples[-1]
    assert len(moods.made) == 7
    assert ends[""] > 0.8 * ends.total()
    assert len(first.resident) == 2
    for before, after in zip(first.resident, last.resident, strict=True):
        assert after - before < GROWTH, samples
    # A connection that was lost is made anew by the next scrape: there may be fewer, never more.
    assert last.connections <= TARGETS
    assert last.descriptors <= first.descriptors + TARGETS
