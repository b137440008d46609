"""Huge-page collector: /proc/meminfo, and the pools of all page sizes for the host and per NUMA node.

The HugePages_* lines of meminfo count the default page size only; sysfs has all sizes.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ase_exporter.host.declared import of_group
from ase_exporter.host.files import (
    NotOfferedError,
    list_names,
    list_numbered,
    parse_meminfo,
    read_int,
    read_kernel_text,
)
from ase_exporter.metrics.families import Family

_POOL_DIRECTORY = re.compile(r"hugepages-(\d+)kB")


@dataclass(frozen=True, slots=True)
class HugePagePool:
    """The pool of one huge page size.

    size_bytes: size of one page. The other fields count pages: total is nr_hugepages; free includes reserved. A
    node's pool (`/sys/devices/system/node/node*/hugepages`) has neither reserved nor overcommit.
    """

    size_bytes: int
    total: int
    free: int
    surplus: int
    reserved: int | None = None
    overcommit: int | None = None

    @property
    def size(self) -> str:
        """The size as the kernel names it: 2048kB."""
        return f"{self.size_bytes // 1024}kB"


def read_pools(directory: str) -> list[HugePagePool]:
    """Return the pools under a `hugepages` directory of sysfs, smallest page first; empty if it is absent."""
    pools = []
    for entry in list_names(directory):
        if (match := _POOL_DIRECTORY.fullmatch(entry)) is None:
            continue
        counts = {
            name: read_int(f"{directory}/{entry}/{name}_hugepages")
            for name in ("nr", "free", "surplus", "resv", "nr_overcommit")
        }
        pools.append(
            HugePagePool(
                size_bytes=int(match[1]) * 1024,
                total=counts["nr"] or 0,
                free=counts["free"] or 0,
                surplus=counts["surplus"] or 0,
                reserved=counts["resv"],
                overcommit=counts["nr_overcommit"],
            )
        )
    return sorted(pools, key=lambda pool: pool.size_bytes)


def host_pools(sysfs: str) -> list[HugePagePool]:
    """Return the host's pools, smallest page first."""
    return read_pools(f"{sysfs}/kernel/mm/hugepages")


def node_pools(sysfs: str) -> dict[int, list[HugePagePool]]:
    """Return each NUMA node's pools; empty without NUMA."""
    nodes = f"{sysfs}/devices/system/node"
    return {node: read_pools(f"{nodes}/node{node}/hugepages") for node in list_numbered(nodes, "node")}


class HugePagesCollector:
    """Huge pages of the host from /proc/meminfo and sysfs."""

    name = "hugepages"

    def __init__(self, procfs: str, sysfs: str) -> None:
        self._procfs = procfs
        self._sysfs = sysfs

    def collect(self) -> Iterator[Family]:
        """Yield meminfo lines, pools by size, pools by node and size. Raises NotOfferedError if all are absent."""
        meminfo = parse_meminfo(read_kernel_text(f"{self._procfs}/meminfo") or "")
        pools = host_pools(self._sysfs)
        if not pools and "HugePages_Total" not in meminfo:
            raise NotOfferedError("neither /proc/meminfo nor /sys/kernel/mm/hugepages tells of huge pages")
        yield from of_group("meminfo", {(): meminfo})
        yield from of_group("pool", {(pool.size,): asdict(pool) for pool in pools})
        nodes = node_pools(self._sysfs)
        yield from of_group(
            "node_pool",
            {(str(node), pool.size): asdict(pool) for node, of_node in nodes.items() for pool in of_node},
        )
