"""Measuring scrapes from outside: latency by the clock, CPU by the kernel's accounting of all processes."""

import os
import platform
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol

import psutil
from rich.console import Console
from rich.table import Table

TIMEOUT = 60.0
# The share by which size and number of series of an answer may differ from the first: numbers get longer, rows come.
SAME_SIZE, SAME_SERIES = 0.1, 0.02
_SERIES = re.compile(rb"(?m)^[a-zA-Z_:][\w:]*[{ ]")


@dataclass(frozen=True, slots=True)
class Cost:
    """One scrape. seconds: until its last byte; cpu: seconds of all processes; size: bytes with the head."""

    seconds: float
    cpu: float
    size: int
    series: int


class Measured(Protocol):
    """Anything that can be asked again and again."""

    name: str

    def measure(self) -> Cost: ...


@dataclass(frozen=True, slots=True)
class Costs:
    """Many scrapes of one peer."""

    each: Sequence[Cost]

    @property
    def latency(self) -> float:
        """Median, seconds."""
        return median(cost.seconds for cost in self.each)

    @property
    def p99(self) -> float:
        """Seconds; of fewer than a hundred scrapes, nearly the longest."""
        return quantiles([cost.seconds for cost in self.each], n=100, method="inclusive")[98]

    @property
    def cpu(self) -> float:
        """Seconds a scrape; the mean, since the kernel counts in ticks."""
        return sum(cost.cpu for cost in self.each) / len(self.each)

    @property
    def size(self) -> int:
        """Bytes of the last answer."""
        return self.each[-1].size

    @property
    def series(self) -> int:
        """Series of the smallest answer."""
        return min(cost.series for cost in self.each)


class Caller:
    """Asks over one connection that it keeps, as Prometheus does."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: socket.socket | None = None

    def fetch(self, path: str, headers: Mapping[str, str]) -> tuple[float, bytes]:
        """Seconds, and the whole answer with its head; chunks stay as they came, so that nobody pays for them."""
        lines = [
            f"GET {path} HTTP/1.1",
            "Host: bench",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        request = "\r\n".join([*lines, "", ""]).encode()
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", self._port), TIMEOUT)
        answer, whole = bytearray(), False
        started = time.perf_counter()
        self._connection.sendall(request)
        while not whole:
            chunk = self._connection.recv(1 << 20)
            assert chunk, "the connection was closed within an answer"
            answer += chunk
            whole = _is_whole(answer)
        seconds = time.perf_counter() - started
        assert b" 200 OK\r\n" in answer[:64], bytes(answer[:200])
        return seconds, bytes(answer)


def _is_whole(answer: bytearray) -> bool:
    head, found, _ = answer[:8192].partition(b"\r\n\r\n")
    if not found:
        return False
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if length:
        return len(answer) == len(head) + len(found) + int(length[1])
    return answer.endswith(b"\r\n0\r\n\r\n")


def series_of(answer: bytes) -> int:
    """How many series an answer has."""
    return len(_SERIES.findall(answer))


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and its children; the kernel counts precisely but tells in ticks."""
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def in_turn(peers: Sequence[Measured], rounds: int, warm_up: int = 3) -> dict[str, Costs]:
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
    return {name: Costs(each) for name, each in costs.items()}


def machine() -> str:
    """Processor, how many, kernel and what else went on."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123  # a line and no more
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def show(title: str, costs: Mapping[str, Costs], memory: Mapping[str, int] | None = None) -> None:
    """Absolute figures, and those of the first as ratios to each: latency, CPU, and CPU for each kilobyte."""
    console = Console(width=150)
    table = Table(title=title)
    heads = ["", "p50, ms", "p99, ms", "CPU, ms", "answer, kB", "series", "CPU, µs/kB"]
    heads += ["RSS summed, MiB"] if memory else []
    for head in (*heads, "p50: first / it", "CPU: first / it", "CPU/kB: first / it"):
        table.add_column(head, justify="right")
    first = next(iter(costs.values()))
    for name, cost in costs.items():
        cells = [f"{seconds * 1000:.2f}" for seconds in (cost.latency, cost.p99, cost.cpu)]
        cells += (
            [f"{cost.size / 1000:,.0f}", f"{cost.series:,}", f"{cost.cpu / cost.size * 1e9:.0f}"]
            if cost.size
            else [""] * 3
        )
        if memory:
            cells.append(f"{memory[name] / 2**20:.0f}" if name in memory else "")
        ratios = [first.latency / cost.latency, first.cpu / cost.cpu]
        ratios += [first.cpu / first.size / (cost.cpu / cost.size)] if cost.size else []
        table.add_row(name, *cells, *(f"{ratio:.3f}" for ratio in ratios))
    console.print()
    console.print(table)
    console.print(f"{len(first.each)} rounds; {machine()}")
