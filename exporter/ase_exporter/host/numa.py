"""NUMA collector: memory and allocations per node, distances between nodes, automatic balancing."""

from collections.abc import Iterator

from ase_exporter.host.files import (
    NotOfferedError,
    list_numbered,
    parse_meminfo,
    parse_numbers,
    read_int,
    read_text,
)
from ase_exporter.metrics.families import Family, single

# line of a node's meminfo -> metric, what it counts
_MEMORY = {
    "MemTotal": ("dbhost_numa_memory_bytes", "Memory of a node"),
    "MemFree": ("dbhost_numa_memory_free_bytes", "Free memory of a node"),
    "AnonPages": ("dbhost_numa_memory_anon_bytes", "Anonymous memory on a node"),
    "FilePages": ("dbhost_numa_memory_file_bytes", "Page cache, with shared memory, on a node"),
    "Shmem": ("dbhost_numa_memory_shmem_bytes", "Shared memory on a node, without huge pages"),
    "AnonHugePages": (
        "dbhost_numa_memory_anon_hugepages_bytes",
        "Anonymous memory in transparent huge pages on a node",
    ),
    "PageTables": ("dbhost_numa_memory_page_tables_bytes", "Page tables on a node"),
}

# line of a node's numastat -> metric, what it counts (all in pages)
_NUMASTAT = {
    "numa_hit": ("dbhost_numa_hit_pages_total", "Pages allocated on the intended node"),
    "numa_miss": ("dbhost_numa_miss_pages_total", "Pages allocated here though intended for another node"),
    "numa_foreign": (
        "dbhost_numa_foreign_pages_total",
        "Pages intended for this node but allocated elsewhere",
    ),
    "interleave_hit": (
        "dbhost_numa_interleave_hit_pages_total",
        "Interleaved pages allocated on the intended node",
    ),
    "local_node": ("dbhost_numa_local_pages_total", "Pages allocated by a process running on this node"),
    "other_node": ("dbhost_numa_other_pages_total", "Pages allocated here by a process on another node"),
}

# line of /proc/vmstat -> metric, what it counts
_BALANCING = {
    "numa_pte_updates": (
        "dbhost_numa_balancing_pte_updates_total",
        "Pages marked to find out which node uses them",
    ),
    "numa_hint_faults": ("dbhost_numa_balancing_hint_faults_total", "Page faults on marked pages"),
    "numa_hint_faults_local": (
        "dbhost_numa_balancing_hint_faults_local_total",
        "Page faults on marked pages that were on the right node",
    ),
    "numa_pages_migrated": ("dbhost_numa_balancing_pages_migrated_total", "Pages moved to another node"),
}


class NumaCollector:
    """NUMA nodes from /sys/devices/system/node, balancing from /proc/vmstat and /proc/sys."""

    name = "numa"

    def __init__(self, procfs: str, sysfs: str) -> None:
        self._procfs = procfs
        self._nodes = f"{sysfs}/devices/system/node"

    def collect(self) -> Iterator[Family]:
        """Yield memory, numastat and distances per node, then balancing. Raises NotOfferedError without NUMA."""
        nodes = list_numbered(self._nodes, "node")
        if not nodes:
            raise NotOfferedError("no NUMA: /sys/devices/system/node has no nodes")
        yield from self._memory(nodes)
        yield from self._numastat(nodes)
        yield from self._distances(nodes)
        yield from self._balancing()

    def _read(self, node: int, file: str) -> str:
        return read_text(f"{self._nodes}/node{node}/{file}") or ""

    def _memory(self, nodes: list[int]) -> Iterator[Family]:
        meminfo = {node: parse_meminfo(self._read(node, "meminfo")) for node in nodes}
        for line, (metric, what) in _MEMORY.items():
            family = Family(metric, "gauge", f"{what} (node*/meminfo {line}).", ("node",))
            for node, values in meminfo.items():
                if line in values:
                    family.add(values[line], str(node))
            if family.samples:
                yield family

    def _numastat(self, nodes: list[int]) -> Iterator[Family]:
        stats = {node: dict(parse_numbers(self._read(node, "numastat"))) for node in nodes}
        for line, (metric, what) in _NUMASTAT.items():
            family = Family(metric, "counter", f"{what} (node*/numastat {line}).", ("node",))
            for node, values in stats.items():
                if line in values:
                    family.add(values[line], str(node))
            if family.samples:
                yield family

    def _distances(self, nodes: list[int]) -> Iterator[Family]:
        family = Family(
            "dbhost_numa_distance",
            "gauge",
            "Relative cost of memory on another node; 10 is local (node*/distance).",
            ("from_node", "to_node"),
        )
        for node in nodes:
            distances = self._read(node, "distance").split()
            # The kernel prints one distance per online node, in order.
            for other, distance in zip(nodes, distances, strict=False):
                family.add(int(distance), str(node), str(other))
        if family.samples:
            yield family

    def _balancing(self) -> Iterator[Family]:
        if (mode := read_int(f"{self._procfs}/sys/kernel/numa_balancing")) is not None:
            yield single(
                "dbhost_numa_balancing",
                "gauge",
                "Automatic NUMA balancing: 0 off, 1 on, 2 memory tiering (/proc/sys/kernel/numa_balancing).",
                mode,
            )
        events = dict(parse_numbers(read_text(f"{self._procfs}/vmstat") or ""))
        for event, (metric, what) in _BALANCING.items():
            if event in events:
                yield single(metric, "counter", f"{what} (/proc/vmstat {event}).", events[event])
