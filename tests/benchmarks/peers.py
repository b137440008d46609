"""What is measured beside each other: exporters that run."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil
from tests.benchmarks.scraping import Caller, Cost, cpu_seconds, series_of
from tests.paths import REPOSITORY
from tests.programs import eventually

HOST = "127.0.0.1"


@dataclass
class Peer:
    """An exporter that runs. path: what to scrape."""

    name: str
    port: int
    path: str
    process: psutil.Process
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._caller = Caller(self.port)

    def measure(self) -> Cost:
        """One scrape from outside: its time, CPU of all its processes, size of the answer."""
        before = cpu_seconds(self.process)
        seconds, body = self._caller.fetch(self.path, self.headers)
        return Cost(seconds, cpu_seconds(self.process) - before, len(body), series_of(body))

    def answer(self) -> bytes:
        """One answer, with its head."""
        return self._caller.fetch(self.path, self.headers)[1]

    def memory(self) -> int:
        """Resident bytes of its processes, summed: what they share counts for each."""
        processes = [self.process, *self.process.children(recursive=True)]
        return sum(process.memory_info().rss for process in processes)


@contextmanager
def program(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A process to the end of the block, with pipes to its input and output."""
    path = os.pathsep.join(map(str, (REPOSITORY, REPOSITORY / "exporter", REPOSITORY / "simulator")))
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def await_port(process: "subprocess.Popen[str]", port: int) -> None:
    """Wait until something listens there."""

    def listens() -> bool:
        assert process.poll() is None, f"nothing listens on port {port}"
        with socket.socket() as probe:
            return probe.connect_ex((HOST, port)) == 0

    eventually(f"port {port}", listens)
