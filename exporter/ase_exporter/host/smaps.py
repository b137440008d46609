"""Reads /proc/PID/smaps and numa_maps in a background thread, at an interval.

These files are expensive: the kernel walks all page tables of the process and holds the lock of its address space
meanwhile. With terabytes in small pages that takes seconds, so no scrape waits for it.
"""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ase_exporter.host.declared import keys
from ase_exporter.host.files import read_kernel_text
from ase_exporter.host.process_finder import ServerKey

_MAX_CPU_SHARE = 0.01
_SMAPS_LINE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def parse_smaps(text: str, lines: Iterable[str]) -> tuple[Mapping[str, int], Mapping[int, int]]:
    """The sums of these lines of /proc/PID/smaps, and what is mapped with huge pages (see SmapsSnapshot).

    smaps_rollup has no page sizes, and does not exist before Linux 4.14.

    A mapping uses huge pages if its KernelPageSize is 1 MiB or more: base pages are 64 KiB at most.
    """
    sums = dict.fromkeys(lines, 0)
    mapped: defaultdict[int, int] = defaultdict(int)
    size = 0
    for name, kilobytes in _SMAPS_LINE.findall(text):
        if name == "Size":
            size = int(kilobytes) * 1024
        elif name == "KernelPageSize" and int(kilobytes) >= 1024:
            mapped[int(kilobytes) * 1024] += size
        elif name in sums:
            sums[name] += int(kilobytes) * 1024
    return sums, mapped


def parse_numa_maps(text: str) -> Mapping[tuple[int, int], int]:
    """Parse /proc/PID/numa_maps: (node, page size in bytes) -> bytes of the process on that node."""
    placed: defaultdict[tuple[int, int], int] = defaultdict(int)
    for line in text.splitlines():
        words = line.split()
        size = next((int(w[18:]) * 1024 for w in words if w.startswith("kernelpagesize_kB=")), 4096)
        for word in words:
            node, equals, pages = word.partition("=")
            if equals and node[0] == "N" and node[1:].isdecimal():
                placed[int(node[1:]), size] += int(pages) * size
    return placed


@dataclass(frozen=True, slots=True)
class SmapsSnapshot:
    """smaps and numa_maps of one process. sums and mapped are None without permission to read it (as for ptrace).

    sums: lines by name, in bytes, summed over all mappings. mapped: huge page size in bytes -> bytes mapped with that
    size, touched or not. numa: (node, page size in bytes) -> bytes. at: clock time of the read. seconds: its duration.
    """

    sums: Mapping[str, int] | None
    mapped: Mapping[int, int] | None
    numa: Mapping[tuple[int, int], int]
    at: float
    seconds: float


def read_smaps(procfs: str, pid: int, clock: Callable[[], float] = time.monotonic) -> SmapsSnapshot:
    """Read smaps and numa_maps of one process now."""
    start = clock()
    smaps = read_kernel_text(f"{procfs}/{pid}/smaps")
    numa = read_kernel_text(f"{procfs}/{pid}/numa_maps")
    sums, mapped = parse_smaps(smaps, keys("smaps")) if smaps else (None, None)
    return SmapsSnapshot(sums, mapped, parse_numa_maps(numa or ""), at=start, seconds=clock() - start)


@dataclass(slots=True)
class SmapsReader:
    """Keeps the latest snapshot of each server; reads at most every `interval` seconds.

    A slow read delays the next one, so that reading takes 1 % of one CPU at most.
    """

    procfs: str
    interval: float
    clock: Callable[[], float] = time.monotonic
    cpu_seconds: float = 0.0
    _snapshots: dict[ServerKey, SmapsSnapshot] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _due: float = 0.0
    _failure: Exception | None = None

    def latest(self, wanted: Mapping[ServerKey, int]) -> dict[ServerKey, SmapsSnapshot]:
        """Return the latest snapshots of the wanted servers; start the next read if it is due.

        wanted: server -> pid of the process to read. A new server has no snapshot until the next read ends.
        Raises the exception that the last read failed with.
        """
        running = self._thread is not None and self._thread.is_alive()
        if wanted and not running and self.clock() >= self._due:
            self._thread = threading.Thread(
                target=self._read, args=(dict(wanted),), name="smaps", daemon=True
            )
            self._thread.start()
        if self._failure is not None:
            raise self._failure
        snapshots = self._snapshots
        return {key: snapshots[key] for key in wanted if key in snapshots}

    def wait(self) -> None:
        """Wait for a running read, if any."""
        if self._thread is not None:
            self._thread.join()

    def _read(self, wanted: Mapping[ServerKey, int]) -> None:
        begun, start = self.clock(), time.thread_time()
        try:
            self._snapshots = self._read_all(wanted)
            self._failure = None
        except Exception as error:  # raised by the next latest()
            self._failure = error
        self.cpu_seconds += time.thread_time() - start
        self._due = begun + max(self.interval, (self.clock() - begun) / _MAX_CPU_SHARE)

    def _read_all(self, wanted: Mapping[ServerKey, int]) -> dict[ServerKey, SmapsSnapshot]:
        snapshots = {key: snapshot for key, snapshot in self._snapshots.items() if key in wanted}
        for key, pid in wanted.items():
            snapshot = read_smaps(self.procfs, pid, self.clock)
            # Keep the older snapshot if the process ended during the read.
            if snapshot.sums is not None or read_kernel_text(f"{self.procfs}/{pid}/stat"):
                snapshots[key] = snapshot
        return snapshots
