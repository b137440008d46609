"""Huge-page collector: /proc/meminfo, and the pools of all page sizes for the host and per NUMA node.

The HugePages_* lines of meminfo count the default page size only; sysfs has all sizes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ase_exporter.host.files import (
    NotOfferedError,
    list_names,
    list_numbered,
    parse_meminfo,
    read_int,
    read_text,
)
from ase_exporter.metrics.families import Family, single

# line of /proc/meminfo -> metric, what it counts
_MEMINFO = {
    "HugePages_Total": ("dbhost_memory_hugepages", "Huge pages of the default size in the pool"),
    "HugePages_Free": (
        "dbhost_memory_hugepages_free",
        "Free huge pages of the default size, reserved ones included",
    ),
    "HugePages_Rsvd": (
        "dbhost_memory_hugepages_reserved",
        "Free huge pages of the default size that are reserved for a process but not touched yet",
    ),
    "HugePages_Surp": (
        "dbhost_memory_hugepages_surplus",
        "Huge pages of the default size above vm.nr_hugepages",
    ),
    "Hugepagesize": ("dbhost_memory_hugepage_size_bytes", "The default huge page size"),
    "Hugetlb": ("dbhost_memory_hugetlb_bytes", "Memory held by the huge-page pools of all sizes"),
    "AnonHugePages": ("dbhost_memory_anon_hugepages_bytes", "Anonymous memory in transparent huge pages"),
    "ShmemHugePages": ("dbhost_memory_shmem_hugepages_bytes", "Shared memory in transparent huge pages"),
    "FileHugePages": ("dbhost_memory_file_hugepages_bytes", "Page cache in transparent huge pages"),
    "MemTotal": ("dbhost_memory_bytes", "Memory of the host"),
    "PageTables": ("dbhost_memory_page_tables_bytes", "Memory taken by page tables"),
}

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
        meminfo = parse_meminfo(read_text(f"{self._procfs}/meminfo") or "")
        pools = host_pools(self._sysfs)
        if not pools and "HugePages_Total" not in meminfo:
            raise NotOfferedError("neither /proc/meminfo nor /sys/kernel/mm/hugepages tells of huge pages")
        yield from _meminfo_families(meminfo)
        yield from _pool_families(pools)
        yield from _node_families(node_pools(self._sysfs))


def _meminfo_families(meminfo: Mapping[str, int]) -> Iterator[Family]:
    for line, (metric, what) in _MEMINFO.items():
        if line in meminfo:
            yield single(metric, "gauge", f"{what} (/proc/meminfo {line}).", meminfo[line])


def _pool_families(pools: list[HugePagePool]) -> Iterator[Family]:
    source = "/sys/kernel/mm/hugepages/hugepages-*/"
    size = Family("dbhost_hugepages_size_bytes", "gauge", f"Size of one huge page ({source}).", ("size",))
    total = Family("dbhost_hugepages", "gauge", f"Huge pages in the pool ({source}nr_hugepages).", ("size",))
    free = Family(
        "dbhost_hugepages_free",
        "gauge",
        f"Free huge pages, reserved ones included ({source}free_hugepages).",
        ("size",),
    )
    reserved = Family(
        "dbhost_hugepages_reserved",
        "gauge",
        f"Free huge pages that are reserved for a process but not touched yet ({source}resv_hugepages).",
        ("size",),
    )
    surplus = Family(
        "dbhost_hugepages_surplus",
        "gauge",
        f"Huge pages above the pool's configured number ({source}surplus_hugepages).",
        ("size",),
    )
    overcommit = Family(
        "dbhost_hugepages_overcommit_limit",
        "gauge",
        f"Maximum number of surplus huge pages ({source}nr_overcommit_hugepages).",
        ("size",),
    )
    for pool in pools:
        size.add(pool.size_bytes, pool.size)
        total.add(pool.total, pool.size)
        free.add(pool.free, pool.size)
        surplus.add(pool.surplus, pool.size)
        if pool.reserved is not None:
            reserved.add(pool.reserved, pool.size)
        if pool.overcommit is not None:
            overcommit.add(pool.overcommit, pool.size)
    yield from (family for family in (size, total, free, reserved, surplus, overcommit) if family.samples)


def _node_families(nodes: Mapping[int, list[HugePagePool]]) -> Iterator[Family]:
    source = "/sys/devices/system/node/node*/hugepages/hugepages-*/"
    labels = ("node", "size")
    total = Family(
        "dbhost_numa_hugepages", "gauge", f"Huge pages in a node's pool ({source}nr_hugepages).", labels
    )
    free = Family(
        "dbhost_numa_hugepages_free",
        "gauge",
        f"Free huge pages of a node ({source}free_hugepages).",
        labels,
    )
    surplus = Family(
        "dbhost_numa_hugepages_surplus",
        "gauge",
        f"Huge pages of a node above its configured number ({source}surplus_hugepages).",
        labels,
    )
    for node, pools in nodes.items():
        for pool in pools:
            total.add(pool.total, str(node), pool.size)
            free.add(pool.free, str(node), pool.size)
            surplus.add(pool.surplus, str(node), pool.size)
    yield from (family for family in (total, free, surplus) if family.samples)
