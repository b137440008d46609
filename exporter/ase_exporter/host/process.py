"""Process collector: CPU, threads, memory, huge pages, NUMA placement and limits of database servers.

A server of many processes (PostgreSQL, Oracle) is one set of series: private values are summed over its processes,
shared memory is taken from the process that has most of it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ase_exporter.config.host import ProcessGroup
from ase_exporter.host.files import NotOfferedError, read_text
from ase_exporter.host.process_files import ProcessStat, Smaps, parse_memlock, parse_status
from ase_exporter.host.process_finder import ProcessFinder, ServerKey, ServerProcesses
from ase_exporter.host.smaps import SmapsReader, SmapsSnapshot
from ase_exporter.host.verdict import ServerState
from ase_exporter.metrics.families import Family

_LABELS = ("database", "server_name")
_TICK = 1 / os.sysconf("SC_CLK_TCK")

# line of /proc/PID/status -> metric, aggregation over processes, what it counts
_STATUS: dict[str, tuple[str, Callable[[Iterator[int]], int], str]] = {
    "RssAnon": ("dbhost_process_anonymous_bytes", sum, "Anonymous memory in RAM, all processes"),
    "RssShmem": (
        "dbhost_process_shmem_bytes",
        max,
        "Shared memory in small pages that one process touched, the largest of the server's processes",
    ),
    "HugetlbPages": (
        "dbhost_process_hugetlb_bytes",
        max,
        "Memory in huge pages that one process touched, the largest of the server's processes",
    ),
    "VmPTE": ("dbhost_process_page_tables_bytes", sum, "Page tables, all processes"),
    "VmSwap": ("dbhost_process_swap_bytes", sum, "Swapped out anonymous memory, all processes"),
    "VmLck": ("dbhost_process_locked_bytes", max, "Locked memory, the largest of the server's processes"),
    "Threads": ("dbhost_process_threads", sum, "Threads, all processes"),
}

# attribute of Smaps -> metric, what it counts
_SMAPS = {
    "anon_hugepages": (
        "dbhost_process_anon_hugepages_bytes",
        "Anonymous memory in transparent huge pages (smaps AnonHugePages",
    ),
    "shmem_hugepages": (
        "dbhost_process_shmem_hugepages_bytes",
        "Shared memory in transparent huge pages (smaps ShmemPmdMapped",
    ),
    "private_hugetlb": (
        "dbhost_process_hugetlb_private_bytes",
        "Touched huge pages that no other process maps (smaps Private_Hugetlb",
    ),
    "shared_hugetlb": (
        "dbhost_process_hugetlb_shared_bytes",
        "Touched huge pages that other processes map too (smaps Shared_Hugetlb",
    ),
}
_LARGEST = ", of the server's largest process)."


@dataclass(slots=True)
class _Totals:
    """Counters of one server that survive the end of a process. last: (pid, start) -> stat counted so far."""

    user: int = 0
    system: int = 0
    minor: int = 0
    major: int = 0
    last: dict[tuple[int, int], ProcessStat] = field(default_factory=dict)

    def advance(self, stats: Mapping[int, ProcessStat]) -> None:
        """Add what each process used since the last call; a new process counts from its start."""
        last, self.last = self.last, {}
        for pid, stat in stats.items():
            before = last.get((pid, stat.start))
            self.user += stat.user_ticks - (before.user_ticks if before else 0)
            self.system += stat.system_ticks - (before.system_ticks if before else 0)
            self.minor += stat.minor_faults - (before.minor_faults if before else 0)
            self.major += stat.major_faults - (before.major_faults if before else 0)
            self.last[pid, stat.start] = stat


class ProcessCollector:
    """Database processes from /proc/PID. smaps and numa_maps are read at an interval (seconds; 0: never)."""

    name = "process"

    def __init__(self, procfs: str, groups: tuple[ProcessGroup, ...], smaps_interval: float) -> None:
        self._procfs = procfs
        self._finder = ProcessFinder(procfs, groups)
        self._reader = SmapsReader(procfs, smaps_interval) if smaps_interval else None
        self._totals: dict[ServerKey, _Totals] = {}
        self.servers: tuple[ServerState, ...] = ()

    def collect(self) -> Iterator[Family]:
        """Yield families of all servers, and set `servers`. Raises NotOfferedError if no process matches."""
        servers = self._finder.find()
        self.servers = ()
        if not servers:
            raise NotOfferedError(
                "no process matches; a container sees the database only in the host's process namespace"
            )
        statuses = {server.key: self._read_statuses(server) for server in servers}
        yield _process_count(servers)
        yield from self._counters(servers)
        yield from _status_families(statuses)
        limits = {server.key: self._read_memlock(server) for server in servers}
        yield _memlock_family(limits)
        largest = {
            key: max(processes, key=lambda pid: _touched(processes[pid]))
            for key, processes in statuses.items()
            if processes
        }
        snapshots = self._reader.latest(largest) if self._reader else {}
        self.servers = tuple(
            _state(key, statuses[key][pid], limits[key], snapshots.get(key)) for key, pid in largest.items()
        )
        if self._reader:
            yield from _smaps_families(snapshots, self._reader)

    def wait(self) -> None:
        """Wait for a running read of smaps, if any."""
        if self._reader is not None:
            self._reader.wait()

    def _read_statuses(self, server: ServerProcesses) -> dict[int, dict[str, int]]:
        texts = {pid: read_text(f"{self._procfs}/{pid}/status") for pid in server.stats}
        return {pid: parse_status(text) for pid, text in texts.items() if text}

    def _counters(self, servers: list[ServerProcesses]) -> Iterator[Family]:
        cpu = Family(
            "dbhost_process_cpu_seconds_total",
            "counter",
            "CPU time of the server's processes (/proc/PID/stat utime, stime).",
            ("database", "mode", "server_name"),
        )
        minor = Family(
            "dbhost_process_minor_faults_total",
            "counter",
            "Page faults served from memory (/proc/PID/stat minflt).",
            _LABELS,
        )
        major = Family(
            "dbhost_process_major_faults_total",
            "counter",
            "Page faults that read from disk (/proc/PID/stat majflt).",
            _LABELS,
        )
        self._totals = {server.key: self._totals.get(server.key, _Totals()) for server in servers}
        for server in servers:
            totals = self._totals[server.key]
            totals.advance(server.stats)
            database, name = server.key
            cpu.add(totals.user * _TICK, database, "user", name)
            cpu.add(totals.system * _TICK, database, "system", name)
            minor.add(totals.minor, *server.key)
            major.add(totals.major, *server.key)
        yield from (cpu, minor, major)

    def _read_memlock(self, server: ServerProcesses) -> tuple[float, float] | None:
        return parse_memlock(read_text(f"{self._procfs}/{server.main}/limits") or "")


def _memlock_family(limits: Mapping[ServerKey, tuple[float, float] | None]) -> Family:
    family = Family(
        "dbhost_process_memlock_limit_bytes",
        "gauge",
        "Maximum memory that the server's main process may lock; +Inf if unlimited (/proc/PID/limits).",
        ("database", "limit", "server_name"),
    )
    for (database, server), limit in limits.items():
        if limit is not None:
            family.add(limit[0], database, "soft", server)
            family.add(limit[1], database, "hard", server)
    return family


def _state(
    key: ServerKey,
    status: Mapping[str, int],
    limits: tuple[float, float] | None,
    snapshot: SmapsSnapshot | None,
) -> ServerState:
    return ServerState(
        key=key,
        memlock=limits[0] if limits else None,
        touched=status.get("HugetlbPages", 0),
        mapped=snapshot.smaps.mapped_hugetlb if snapshot and snapshot.smaps else None,
    )


def _touched(status: Mapping[str, int]) -> int:
    return status.get("VmRSS", 0) + status.get("HugetlbPages", 0)


def _process_count(servers: list[ServerProcesses]) -> Family:
    family = Family("dbhost_process_count", "gauge", "Processes of the server (/proc).", _LABELS)
    for server in servers:
        family.add(len(server.stats), *server.key)
    return family


def _status_families(statuses: Mapping[ServerKey, Mapping[int, Mapping[str, int]]]) -> Iterator[Family]:
    for line, (metric, aggregate, what) in _STATUS.items():
        family = Family(metric, "gauge", f"{what} (/proc/PID/status {line}).", _LABELS)
        for key, processes in statuses.items():
            found = [status[line] for status in processes.values() if line in status]
            if found:
                family.add(aggregate(iter(found)), *key)
        if family.samples:
            yield family


def _smaps_families(snapshots: Mapping[ServerKey, SmapsSnapshot], reader: SmapsReader) -> Iterator[Family]:
    for attribute, (metric, what) in _SMAPS.items():
        family = Family(metric, "gauge", what + _LARGEST, _LABELS)
        for key, snapshot in snapshots.items():
            if snapshot.smaps is not None:
                family.add(getattr(snapshot.smaps, attribute), *key)
        yield family
    yield from _placement(snapshots)
    readable = Family(
        "dbhost_process_smaps_readable",
        "gauge",
        "1 if the exporter may read the process's smaps; 0 if it runs as another user without CAP_SYS_PTRACE.",
        _LABELS,
    )
    age = Family("dbhost_process_smaps_age_seconds", "gauge", "Time since smaps was last read.", _LABELS)
    duration = Family(
        "dbhost_process_smaps_duration_seconds",
        "gauge",
        "Duration of the last read of smaps and numa_maps.",
        _LABELS,
    )
    for key, snapshot in snapshots.items():
        readable.add(snapshot.smaps is not None, *key)
        age.add(reader.clock() - snapshot.at, *key)
        duration.add(snapshot.seconds, *key)
    yield from (readable, age, duration)
    yield Family(
        "dbhost_process_smaps_cpu_seconds_total",
        "counter",
        "CPU time that the exporter spent reading smaps and numa_maps.",
        samples=[((), reader.cpu_seconds)],
    )


def _placement(snapshots: Mapping[ServerKey, SmapsSnapshot]) -> Iterator[Family]:
    mapped = Family(
        "dbhost_process_hugetlb_mapped_bytes",
        "gauge",
        "Memory mapped with huge pages of a size, touched or not (smaps Size by KernelPageSize" + _LARGEST,
        ("database", "server_name", "size"),
    )
    placed = Family(
        "dbhost_process_numa_bytes",
        "gauge",
        "Memory of the process on a node, by page size (numa_maps N, kernelpagesize_kB" + _LARGEST,
        ("database", "node", "server_name", "size"),
    )
    for (database, server), snapshot in snapshots.items():
        for size, size_bytes in (snapshot.smaps or Smaps()).mapped_hugetlb.items():
            mapped.add(size_bytes, database, server, f"{size // 1024}kB")
        for (node, size), size_bytes in sorted(snapshot.numa.items()):
            placed.add(size_bytes, database, str(node), server, f"{size // 1024}kB")
    yield from (mapped, placed)
