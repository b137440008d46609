"""Process collector: CPU, threads, memory, huge pages, NUMA placement and limits of database servers.

A server of several processes (ASE in process mode) is one set of series: private values are summed over its
processes, shared memory is taken from the process that has most of it.
"""

import math
import re
from collections.abc import Iterator, Mapping

from ase_exporter.config.host import ProcessGroup
from ase_exporter.host.declared import declared_value, family, keys, of_group
from ase_exporter.host.files import NotOfferedError, parse_sizes, read_kernel_text
from ase_exporter.host.process_finder import ServerKey, ServerProcesses, find_servers
from ase_exporter.host.process_totals import TICK, ProcessTotals
from ase_exporter.host.smaps import SmapsReader, SmapsSnapshot
from ase_exporter.host.state import ServerState
from ase_exporter.metrics.declared import Rows
from ase_exporter.metrics.families import Family

# Lines of /proc/PID/status that count what processes share: the largest of them stands for the server. Of the other
# lines the sum does.
_SHARED = frozenset(("RssShmem", "HugetlbPages", "VmLck"))
# The process that touched most memory, by these lines, is the one whose smaps are read.
_TOUCHED = ("VmRSS", "HugetlbPages")


class ProcessCollector:
    """Database processes from /proc/PID. smaps and numa_maps are read at an interval (seconds; 0: never).

    totals: outlive the collector.
    """

    def __init__(
        self,
        procfs: str,
        groups: tuple[ProcessGroup, ...],
        smaps_interval: float,
        totals: ProcessTotals | None = None,
    ) -> None:
        self._procfs = procfs
        self._groups = groups
        self._reader = SmapsReader(procfs, smaps_interval) if smaps_interval else None
        self._totals = totals or ProcessTotals()
        self.servers: tuple[ServerState, ...] = ()

    def collect(self) -> Iterator[Family]:
        """Yield families of all servers, and set `servers`. Raises NotOfferedError if no process matches."""
        servers = find_servers(self._procfs, self._groups)
        self.servers = ()
        if not servers:
            raise NotOfferedError(
                "no process matches; a container sees the database only in the host's process namespace"
            )
        statuses = {server.key: self._read_statuses(server) for server in servers}
        yield family("dbhost_process_count", [(server.key, len(server.stats)) for server in servers])
        yield from self._counters(servers)
        yield from _status_families(statuses)
        limits = {
            server.key: parse_memlock(read_kernel_text(f"{self._procfs}/{server.main}/limits") or "")
            for server in servers
        }
        yield _memlock_family(limits)
        largest = {
            key: max(processes, key=lambda pid: sum(processes[pid].get(line, 0) for line in _TOUCHED))
            for key, processes in statuses.items()
            if processes
        }
        snapshots = self._reader.latest(largest) if self._reader else {}
        self.servers = tuple(
            ServerState(key, snapshots[key].mapped if key in snapshots else None) for key in largest
        )
        if self._reader:
            yield from _smaps_families(snapshots, self._reader)

    def wait(self) -> None:
        """Wait for a running read of smaps, if any."""
        if self._reader is not None:
            self._reader.wait()

    def _read_statuses(self, server: ServerProcesses) -> dict[int, dict[str, int]]:
        texts = {pid: read_kernel_text(f"{self._procfs}/{pid}/status") for pid in server.stats}
        return {pid: parse_sizes(text) for pid, text in texts.items() if text}

    def _counters(self, servers: list[ServerProcesses]) -> Iterator[Family]:
        cpu = family("dbhost_process_cpu_seconds_total")
        faults: dict[tuple[str, ...], dict[str, float | None]] = {}
        for key, (user, system, minor, major) in self._totals.advance(self._procfs, servers).items():
            database, name = key
            cpu.add(user * TICK, database, "user", name)
            cpu.add(system * TICK, database, "system", name)
            faults[key] = {"minor": minor, "major": major}
        yield cpu
        yield from of_group("faults", faults)


def parse_memlock(text: str) -> tuple[float, float] | None:
    """Return soft and hard memlock limit in bytes from /proc/PID/limits; infinity for `unlimited`."""
    match = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    if match is None:
        return None
    soft, hard = (math.inf if word == "unlimited" else float(word) for word in match.groups())
    return soft, hard


def _memlock_family(limits: Mapping[ServerKey, tuple[float, float] | None]) -> Family:
    found = family("dbhost_process_memlock_limit_bytes")
    for (database, server), limit in limits.items():
        if limit is not None:
            found.add(limit[0], database, "soft", server)
            found.add(limit[1], database, "hard", server)
    return found


def _status_families(statuses: Mapping[ServerKey, Mapping[int, Mapping[str, int]]]) -> Iterator[Family]:
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for key, processes in statuses.items():
        found = {line: [each[line] for each in processes.values() if line in each] for line in keys("status")}
        rows[key] = {
            line: max(numbers) if line in _SHARED else sum(numbers)
            for line, numbers in found.items()
            if numbers
        }
    yield from of_group("status", rows)


def _smaps_families(snapshots: Mapping[ServerKey, SmapsSnapshot], reader: SmapsReader) -> Iterator[Family]:
    yield from of_group("smaps", {key: each.sums for key, each in snapshots.items() if each.sums})
    yield from _placement(snapshots)
    now = reader.clock()
    readings: Rows = {
        key: {"readable": each.sums is not None, "age": now - each.at, "duration": each.seconds}
        for key, each in snapshots.items()
    }
    yield from of_group("snapshot", readings)
    yield declared_value("dbhost_process_smaps_cpu_seconds_total", reader.cpu_seconds)


def _placement(snapshots: Mapping[ServerKey, SmapsSnapshot]) -> Iterator[Family]:
    mapped = family("dbhost_process_hugetlb_mapped_bytes")
    placed = family("dbhost_process_numa_bytes")
    for (database, server), snapshot in snapshots.items():
        for size, size_bytes in (snapshot.mapped or {}).items():
            mapped.add(size_bytes, database, server, f"{size // 1024}kB")
        for (node, size), size_bytes in sorted(snapshot.numa.items()):
            placed.add(size_bytes, database, str(node), server, f"{size // 1024}kB")
    yield from (mapped, placed)
