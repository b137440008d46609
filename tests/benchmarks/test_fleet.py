"""A thousand targets on two cores, beside fifty, and with one in fifty faulty.

The exporter has two cores to itself; simulated servers and scraper have two others, where the machine has so many, as
servers and Prometheus are elsewhere in earnest. The scraper keeps an exact schedule as Prometheus does,
each target at an offset of its own, and asks for what Prometheus asks for. Latency counts from when a scrape was
due, so that neither a late scraper nor a queue hides anything.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pytest
from tests.benchmarks.peers import cpu_seconds, machine
from tests.exporter.running_exporter import RunningExporter, configuration
from tests.exporter.scraper import Scrape, Scraper, scraped


def cores() -> tuple[list[int], list[int]]:
    """For the exporter, and for servers and scraper; the same where there are not four."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[-2:], mine[:-2][:2] or mine


INTERVAL = 15.0
FEW, MANY = 50, int(os.environ.get("FLEET_TARGETS", "1000"))
FAULTY = MANY // 50
# How long each state is held; the first rounds, in which every target logs in, are told apart.
SECONDS = float(os.environ.get("FLEET_SECONDS", "600"))
WARM_UP = float(os.environ.get("FLEET_WARM_UP", "60"))
EXPORTER_CORES, OTHER_CORES = cores()
# What Prometheus 2.42 asks for.
ACCEPT = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@dataclass(frozen=True)
class Phase:
    """What was seen while one state held. cpu: seconds; load: of the machine, at the end."""

    name: str
    scrapes: Sequence[Scrape]
    cpu: float
    load: float

    def seconds(self, share: float) -> float:
        """Latency that this share of the scrapes keeps."""
        ordered = sorted(scrape.seconds for scrape in self.scrapes)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    @property
    def missed(self) -> Counter[str]:
        """Scrapes that gave nothing, by why."""
        return Counter(scrape.missed for scrape in self.scrapes if scrape.missed)

    @property
    def cost(self) -> float:
        """CPU seconds of the exporter, all its processes, a scrape."""
        return self.cpu / len(self.scrapes)

    def __str__(self) -> str:
        p50, p99, longest = (self.seconds(share) * 1000 for share in (0.5, 0.99, 1.0))
        return (
            f"{self.name}: {len(self.scrapes)} scrapes, missed {dict(self.missed) or 0}; p50 {p50:.0f} ms, "
            f"p99 {p99:.0f} ms, longest {longest:.0f} ms; {self.cost * 1000:.2f} ms of CPU a scrape, "
            f"{self.cpu:.1f} s in all; load {self.load:.1f}"
        )

    def __add__(self, other: "Phase") -> "Phase":
        return Phase(
            self.name, [*self.scrapes, *other.scrapes], self.cpu + other.cpu, max(self.load, other.load)
        )


@dataclass
class Fleet:
    """An exporter, so many servers, and a scraper that goes round them for ever."""

    running: RunningExporter
    servers: psutil.Process
    scraper: Scraper
    faulty: frozenset[str]

    async def phase(self, name: str, seconds: float) -> Phase:
        """Watch for so long; what the faulty do is not counted, but for its CPU."""
        front = psutil.Process(self.running.process.pid)
        first, cpu = len(self.scraper.scrapes), cpu_seconds(front)
        await asyncio.sleep(seconds)
        scrapes = [each for each in self.scraper.scrapes[first:] if each.target not in self.faulty]
        return Phase(name, scrapes, cpu_seconds(front) - cpu, os.getloadavg()[0])

    def be(self, ill: bool) -> None:
        """The faulty ones, from now on."""
        self.servers.send_signal(signal.SIGUSR1 if ill else signal.SIGUSR2)

    def memory(self) -> str:
        """Of all processes, MiB."""
        each = [process.memory_full_info() for process in self.running.processes()]
        rss, pss = (sum(values) / 2**20 for values in zip(*((m.rss, m.pss) for m in each), strict=True))
        fds = sum(process.num_fds() for process in self.running.processes())
        return f"{rss:.0f} MiB RSS ({pss:.0f} MiB PSS) in {len(each)} processes, {fds} descriptors"


@contextmanager
def bound_to(chosen: Sequence[int]) -> Iterator[None]:
    """This thread, and the processes that it starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@asynccontextmanager
async def fleet(directory: Path, good: int, faulty: int) -> AsyncIterator[Fleet]:
    """Runs, with every target scraped each INTERVAL."""
    directory.mkdir()
    command = [sys.executable, "-m", "tests.benchmarks.fleet_server", str(good), str(faulty)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as servers:
        try:
            assert servers.stdout
            ports = json.loads(await asyncio.to_thread(servers.stdout.readline))
            names = [f"S{number:04}" for number in range(good + faulty)]
            addresses = {name: ("127.0.0.1", port) for name, port in zip(names, ports, strict=True)}
            # A scrape that leaves out what is too expensive would be cheap.
            settings = configuration(addresses, scrape={"budget": None}, changes={})
            bound = partial(os.sched_setaffinity, 0, EXPORTER_CORES)
            async with scraped(directory, settings, ACCEPT, before=bound) as (running, scraper):
                going = asyncio.create_task(go_round(scraper, names))
                try:
                    yield Fleet(running, psutil.Process(servers.pid), scraper, frozenset(names[good:]))
                finally:
                    going.cancel()
        finally:
            servers.terminate()


async def go_round(scraper: Scraper, names: Sequence[str]) -> None:
    """Scrape each target every INTERVAL, at an offset of its own."""
    chance = random.Random(1)
    offsets = sorted((chance.uniform(0, INTERVAL), name) for name in names)
    under_way: set[asyncio.Task[str]] = set()
    start = time.monotonic() + 1
    for turn in itertools.count():
        for offset, name in offsets:
            due = start + turn * INTERVAL + offset
            await asyncio.sleep(due - time.monotonic())
            task = asyncio.create_task(scraper.scrape(name, due))
            under_way.add(task)
            task.add_done_callback(under_way.discard)


async def measure(directory: Path) -> tuple[Phase, Phase, Phase]:
    """Few; many and well; many, some of which are faulty. The last two take turns."""
    async with fleet(directory / "few", FEW, 0) as few:
        await few.phase("login", 2 * INTERVAL)
        small = await few.phase(f"{FEW} targets", SECONDS / 3)
        print(f"{FEW} targets: {few.memory()}")
    async with fleet(directory / "many", MANY - FAULTY, FAULTY) as many:
        for _ in range(round(WARM_UP / INTERVAL)):
            first = await many.phase("login", INTERVAL)
            print(f"logins: p99 {first.seconds(0.99):.2f} s, missed {dict(first.missed)}")
        print(f"{MANY} targets: {many.memory()}")
        phases = []
        for ill in (False, True, True, False):
            many.be(ill)
            # What was under way belongs to neither.
            await many.phase("change", INTERVAL)
            phases.append(await many.phase(f"{FAULTY} faulty" if ill else f"{MANY} targets", SECONDS / 2))
        print(f"{MANY} targets at the end: {many.memory()}")
    return small, phases[0] + phases[3], phases[1] + phases[2]


@pytest.mark.slow
@pytest.mark.timeout(3 * SECONDS + 600)
def test_a_thousand_targets_on_two_cores(tmp_path: Path) -> None:
    with bound_to(OTHER_CORES):
        small, well, ill = asyncio.run(measure(tmp_path))
    print(f"cores {EXPORTER_CORES} for the exporter, {OTHER_CORES} for servers and scraper; {machine()}")
    for phase in (small, well, ill):
        print(phase)
    # Collectors with intervals of their own are exposed again in between: all answers are whole.
    for phase in (small, well, ill):
        lines = sorted(scrape.lines for scrape in phase.scrapes)
        assert lines[0] >= 0.9 * lines[len(lines) // 2]
    assert not well.missed
    assert not ill.missed
    assert well.seconds(0.99) <= 1
    assert well.cost <= 1.2 * small.cost
    assert ill.seconds(0.99) <= 1.5 * well.seconds(0.99)
