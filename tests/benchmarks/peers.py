"""Programs that are scraped in turn: latency by the clock, CPU by the kernel's accounting of all processes."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection
from statistics import fmean, median, quantiles

import psutil

WARM_UP = 3
# The share by which size and number of series of an answer may differ from the first: numbers get longer, rows come.
SAME_SIZE, SAME_SERIES = 0.1, 0.02
SERIES = re.compile(rb"(?m)^[a-zA-Z_:][\w:]*[{ ]")
STATEMENTS = re.compile(rb"(?m)^ase_exporter_statement_seconds_total (\S+)")


@dataclass
class Peer:
    """A program that runs, asked over one connection that is kept, as by Prometheus; and what its scrapes cost.

    path: what to scrape. seconds: of each scrape, to its last byte; own: those without the server's; cpu: of all its
    processes; first, last: answers.
    """

    name: str
    process: psutil.Process
    connection: HTTPConnection
    path: str
    seconds: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    first: bytes = b""
    last: bytes = b""

    def answer(self) -> bytes:
        self.connection.request("GET", self.path)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        self.last = body
        return body

    def measure(self) -> None:
        """One scrape from outside. An answer that lacks rows of the first would be cheap."""
        waited, cpu, began = in_statements(self.last), cpu_seconds(self.process), time.perf_counter()
        body = self.answer()
        self.seconds.append(time.perf_counter() - began)
        self.own.append(self.seconds[-1] - (in_statements(body) - waited))
        self.cpu.append(cpu_seconds(self.process) - cpu)
        whole, series = len(self.first), len(SERIES.findall(self.first))
        assert abs(len(body) - whole) <= SAME_SIZE * whole, (self.name, len(body), whole)
        assert abs(len(SERIES.findall(body)) - series) <= SAME_SERIES * series, (self.name, series)

    def memory(self) -> int:
        """Resident bytes of its processes, summed: what they share counts for each."""
        processes = [self.process, *self.process.children(recursive=True)]
        return sum(process.memory_info().rss for process in processes)

    def __str__(self) -> str:
        """CPU is a mean, since the kernel counts in ticks."""
        cpu, size, series = fmean(self.cpu), len(self.first), len(SERIES.findall(self.first))
        p99 = quantiles(self.seconds, n=100, method="inclusive")[98]
        return (
            f"{self.name}: p50 {median(self.seconds) * 1000:.2f} ms, {median(self.own) * 1000:.2f} ms of it its own, "
            f"p99 {p99 * 1000:.2f} ms, CPU {cpu * 1000:.2f} ms, "
            f"{size / 1000:,.0f} kB, {series:,} series, {cpu / size * 1e9:.0f} µs of CPU a kB, "
            f"{self.memory() / 2**20:.0f} MiB"
        )


def in_statements(answer: bytes) -> float:
    """Seconds that an exporter has spent in statements so far: the server's, and the driver's, which is small."""
    return sum(map(float, STATEMENTS.findall(answer)))


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and its children; the kernel counts precisely but tells in ticks."""
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def in_turn(title: str, peers: Sequence[Peer], rounds: int) -> None:
    """Measure each peer in each round, so that all of them meet the same load of the machine."""
    for peer in peers:
        for _ in range(WARM_UP):
            peer.first = peer.answer()
    for _ in range(rounds):
        for peer in peers:
            peer.measure()
    print(f"\n{title}: {rounds} rounds; {machine()}", *peers, sep="\n")


def machine() -> str:
    """Processors, kernel and what else went on."""
    return f"{os.cpu_count()} CPUs, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f}"
