"""Programs that are scraped in turn: latency by the clock, CPU by the kernel's accounting of all processes."""

import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from statistics import fmean, median, quantiles

import psutil
from tests.paths import REPOSITORY

HOST = "127.0.0.1"
TIMEOUT = 60.0
# The share by which size and number of series of an answer may differ from the first: numbers get longer, rows come.
SAME_SIZE, SAME_SERIES = 0.1, 0.02
_SERIES = re.compile(rb"(?m)^[a-zA-Z_:][\w:]*[{ ]")


@dataclass(frozen=True, slots=True)
class Cost:
    """One scrape. seconds: until its last byte; cpu: seconds of all processes; size: bytes of the body."""

    seconds: float
    cpu: float
    size: int
    series: int


class Peer:
    """A program that runs, asked over one connection that is kept, as by Prometheus. path: what to scrape."""

    def __init__(self, name: str, port: int, path: str, process: psutil.Process) -> None:
        self.name = name
        self._path = path
        self._process = process
        self._connection = HTTPConnection(HOST, port, timeout=TIMEOUT)

    def answer(self) -> bytes:
        """One answer."""
        self._connection.request("GET", self._path)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return body

    def measure(self) -> Cost:
        """One scrape from outside."""
        cpu, began = cpu_seconds(self._process), time.perf_counter()
        body = self.answer()
        seconds = time.perf_counter() - began
        return Cost(seconds, cpu_seconds(self._process) - cpu, len(body), len(_SERIES.findall(body)))

    def memory(self) -> int:
        """Resident bytes of its processes, summed: what they share counts for each."""
        processes = [self._process, *self._process.children(recursive=True)]
        return sum(process.memory_info().rss for process in processes)


@contextmanager
def program(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A process to the end of the block, with a pipe to its output."""
    path = os.pathsep.join(map(str, (REPOSITORY, REPOSITORY / "exporter", REPOSITORY / "simulator")))
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and its children; the kernel counts precisely but tells in ticks."""
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def in_turn(peers: Sequence[Peer], rounds: int, warm_up: int = 3) -> dict[str, list[Cost]]:
    """Each peer measured in each round, so that all of them meet the same load of the machine.

    Every answer must have about the size and the series of the first: one that lacks rows would be cheap.
    """
    first: dict[str, Cost] = {}
    for peer in peers:
        for _ in range(warm_up):
            first[peer.name] = peer.measure()
    costs: dict[str, list[Cost]] = {peer.name: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            cost, whole = peer.measure(), first[peer.name]
            assert abs(cost.size - whole.size) <= SAME_SIZE * whole.size, (peer.name, cost, whole)
            assert abs(cost.series - whole.series) <= SAME_SERIES * whole.series, (peer.name, cost, whole)
            costs[peer.name].append(cost)
    return costs


def machine() -> str:
    """Processors, kernel and what else went on."""
    return f"{os.cpu_count()} CPUs, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def show(title: str, costs: Mapping[str, Sequence[Cost]], memory: Mapping[str, int]) -> None:
    """A line for each peer. CPU is a mean, since the kernel counts in ticks."""
    print(f"\n{title}: {len(next(iter(costs.values())))} rounds; {machine()}")
    for name, each in costs.items():
        seconds, cpu, size = [cost.seconds for cost in each], fmean(cost.cpu for cost in each), each[-1].size
        p99 = quantiles(seconds, n=100, method="inclusive")[98]
        print(
            f"{name}: p50 {median(seconds) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms, CPU {cpu * 1000:.2f} ms, "
            f"{size / 1000:,.0f} kB, {each[-1].series:,} series, {cpu / size * 1e9:.0f} µs of CPU a kB, "
            f"{memory[name] / 2**20:.0f} MiB"
        )
