"""Measuring scrapes from outside: latency by the clock, CPU by the kernel's accounting of all processes."""

import os
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol

import psutil

TIMEOUT = 60.0
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """One scrape. seconds: until its last byte; cpu: seconds of all processes; size: bytes with the head."""

    seconds: float
    cpu: float
    size: int


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


def fetch(port: int, path: str, headers: Mapping[str, str]) -> tuple[float, bytes]:
    """One HTTP/1.0 request, so that no peer sends in chunks; seconds and the whole answer."""
    lines = [f"GET {path} HTTP/1.0", "Host: bench", *(f"{name}: {value}" for name, value in headers.items())]
    request = "\r\n".join([*lines, "", ""]).encode()
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        connection.sendall(request)
        answer = bytearray()
        while chunk := connection.recv(1 << 20):
            answer += chunk
    seconds = time.perf_counter() - started
    assert b" 200 OK\r\n" in answer[:64], bytes(answer[:200])
    return seconds, bytes(answer)


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and its children; the kernel counts precisely but tells in ticks."""
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def in_turn(peers: Sequence[Measured], rounds: int, warm_up: int = 3) -> dict[str, Costs]:
    """Each peer measured in each round, so that all of them meet the same load of the machine."""
    for peer in peers:
        for _ in range(warm_up):
            peer.measure()
    costs: dict[str, list[Cost]] = {peer.name: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            costs[peer.name].append(peer.measure())
    return {name: Costs(each) for name, each in costs.items()}


def machine() -> str:
    """Processor, how many, kernel and what else went on."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123  # a line and no more
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"
