"""NUMA collector: memory and allocations per node, distances between nodes, automatic balancing."""

from collections.abc import Iterator

from ase_exporter.host.declared import declared_value, family, of_group
from ase_exporter.host.files import (
    NotOfferedError,
    list_numbered,
    parse_meminfo,
    parse_numbers,
    read_int,
    read_kernel_text,
)
from ase_exporter.metrics.declared import Rows
from ase_exporter.metrics.families import Family


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
        memory: Rows = {(str(node),): parse_meminfo(self._read(node, "meminfo")) for node in nodes}
        yield from of_group("node_meminfo", memory)
        pages: Rows = {(str(node),): dict(parse_numbers(self._read(node, "numastat"))) for node in nodes}
        yield from of_group("numastat", pages)
        # The kernel prints one distance per online node, in order.
        yield family(
            "dbhost_numa_distance",
            [
                ((str(node), str(other)), int(distance))
                for node in nodes
                for other, distance in zip(nodes, self._read(node, "distance").split(), strict=False)
            ],
        )
        if (mode := read_int(f"{self._procfs}/sys/kernel/numa_balancing")) is not None:
            yield declared_value("dbhost_numa_balancing", mode)
        yield from of_group(
            "balancing", {(): dict(parse_numbers(read_kernel_text(f"{self._procfs}/vmstat") or ""))}
        )

    def _read(self, node: int, file: str) -> str:
        return read_kernel_text(f"{self._nodes}/node{node}/{file}") or ""
