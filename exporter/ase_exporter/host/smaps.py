"""The dear part of looking at a process: smaps and numa_maps, read at an interval by a thread of its own.

The kernel walks all page tables of the process for each of these files, and holds the lock of its address
space while it does: on a server with terabytes in small pages that takes seconds. No scrape waits for it.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ase_exporter.host.files import read_text
from ase_exporter.host.finder import ServerKey
from ase_exporter.host.procfiles import Smaps, parse_numa_maps, parse_smaps

_LARGEST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of one process. smaps is None without the right to read it (ptrace's rights).

    numa: (node, page size in bytes) -> bytes; at: the clock's time of the reading; seconds: its duration.
    """

    smaps: Smaps | None
    numa: Mapping[tuple[int, int], int]
    at: float
    seconds: float


def read_process(procfs: str, pid: int, clock: Callable[[], float] = time.monotonic) -> Reading:
    """Read smaps and numa_maps of one process, now."""
    start = clock()
    smaps = read_text(f"{procfs}/{pid}/smaps")
    numa = read_text(f"{procfs}/{pid}/numa_maps")
    return Reading(
        smaps=parse_smaps(smaps) if smaps else None,
        numa=parse_numa_maps(numa or ""),
        at=start,
        seconds=clock() - start,
    )


@dataclass(slots=True)
class SmapsReader:
    """Keeps the last reading of each server; at most one reading every `interval` seconds.

    A reading that takes long makes the next one wait longer: readings take 1 % of a CPU at most.
    """

    procfs: str
    interval: float
    clock: Callable[[], float] = time.monotonic
    cpu_seconds: float = 0.0
    _readings: dict[ServerKey, Reading] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _due: float = 0.0
    _failure: Exception | None = None

    def latest(self, wanted: Mapping[ServerKey, int]) -> dict[ServerKey, Reading]:
        """The last readings of the wanted servers; starts the next reading if it is due.

        wanted: server -> pid of the process to read. A new server has no
        reading until the next one is due. Raises what the last reading failed with.
        """
        running = self._thread is not None and self._thread.is_alive()
        if wanted and not running and self.clock() >= self._due:
            self._thread = threading.Thread(
                target=self._read, args=(dict(wanted),), name="smaps", daemon=True
            )
            self._thread.start()
        if self._failure is not None:
            raise self._failure
        readings = self._readings
        return {key: readings[key] for key in wanted if key in readings}

    def wait(self) -> None:
        """Wait for the reading under way, if any."""
        if self._thread is not None:
            self._thread.join()

    def _read(self, wanted: Mapping[ServerKey, int]) -> None:
        begun, start = self.clock(), time.thread_time()
        try:
            self._readings = self._read_all(wanted)
            self._failure = None
        except Exception as error:  # told by the next scrape
            self._failure = error
        self.cpu_seconds += time.thread_time() - start
        self._due = begun + max(self.interval, (self.clock() - begun) / _LARGEST_SHARE)

    def _read_all(self, wanted: Mapping[ServerKey, int]) -> dict[ServerKey, Reading]:
        readings = {key: reading for key, reading in self._readings.items() if key in wanted}
        for key, pid in wanted.items():
            reading = read_process(self.procfs, pid, self.clock)
            # A process that ended meanwhile says nothing about the server.
            if reading.smaps is not None or read_text(f"{self.procfs}/{pid}/stat"):
                readings[key] = reading
        return readings
