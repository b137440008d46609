"""What the kernel says of memory: huge pages, transparent huge pages, NUMA and the TLB, one collector each.

A collector is a function of the mount points of /proc and /sys. It raises NotOfferedError if the kernel, or the
container, has none of what it reads.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

from ase_exporter.host.declared import declared_value, family, keys, of_group
from ase_exporter.host.files import (
    NotOfferedError,
    list_names,
    list_numbered,
    parse_numbers,
    parse_sizes,
    read_int,
    read_kernel_text,
)
from ase_exporter.metrics.declared import Rows
from ase_exporter.metrics.families import Family

_POOL_DIRECTORY = re.compile(r"hugepages-(\d+)kB")
_THP_EVENTS = re.compile(r"(thp|htlb)_\w+|compact_(stall|fail|success|daemon_wake)")


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


def hugepages(procfs: str, sysfs: str) -> Iterator[Family]:
    """Huge pages of the default size, pools by size, and pools by node and size.

    The HugePages_* lines of meminfo count the default page size only; sysfs has all sizes.
    """
    meminfo = parse_sizes(read_kernel_text(f"{procfs}/meminfo") or "")
    pools = host_pools(sysfs)
    if not pools and "HugePages_Total" not in meminfo:
        raise NotOfferedError("neither /proc/meminfo nor /sys/kernel/mm/hugepages tells of huge pages")
    yield from of_group("meminfo", {(): meminfo})
    yield from of_group("pool", {(pool.size,): asdict(pool) for pool in pools})
    nodes = f"{sysfs}/devices/system/node"
    of_nodes = {node: _pools(f"{nodes}/node{node}/hugepages") for node in list_numbered(nodes, "node")}
    yield from of_group(
        "node_pool",
        {(str(node), pool.size): asdict(pool) for node, found in of_nodes.items() for pool in found},
    )


def host_pools(sysfs: str) -> list[HugePagePool]:
    """The host's pools of huge pages, smallest page first."""
    return _pools(f"{sysfs}/kernel/mm/hugepages")


def _pools(directory: str) -> list[HugePagePool]:
    """The pools under a `hugepages` directory of sysfs, smallest page first; none if it is absent."""
    pools = []
    for entry in list_names(directory):
        if match := _POOL_DIRECTORY.fullmatch(entry):
            names = ("nr", "free", "surplus", "resv", "nr_overcommit")
            counts = [read_int(f"{directory}/{entry}/{name}_hugepages") for name in names]
            total, free, surplus = (count or 0 for count in counts[:3])
            pools.append(HugePagePool(int(match[1]) * 1024, total, free, surplus, *counts[3:]))
    return sorted(pools, key=lambda pool: pool.size_bytes)


def thp(procfs: str, sysfs: str) -> Iterable[Family]:
    """Transparent huge pages: modes, khugepaged's settings and progress, and events of /proc/vmstat."""
    directory = f"{sysfs}/kernel/mm/transparent_hugepage"
    events = dict(parse_numbers(read_kernel_text(f"{procfs}/vmstat") or ""))
    families = [
        *_thp_modes(directory),
        *of_group("thp", {(): {file: read_int(f"{directory}/{file}") for file in keys("thp")}}),
        *_khugepaged(f"{directory}/khugepaged"),
        *(
            Family(f"dbhost_vmstat_{event}_total", "counter", f"/proc/vmstat {event}.", (), [((), count)])
            for event, count in events.items()
            if _THP_EVENTS.fullmatch(event)
        ),
    ]
    if not families:
        raise NotOfferedError("neither /sys/kernel/mm/transparent_hugepage nor /proc/vmstat tells of THP")
    return families


def parse_mode(text: str) -> tuple[str, list[str]]:
    """Parse `always [madvise] never` into the active mode and all modes; ("", …) if none is bracketed."""
    modes = text.replace("[", "").replace("]", "").split()
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen[1] if chosen else "", modes


def thp_mode(sysfs: str) -> str | None:
    """The most permissive mode in effect: always, madvise or never; None if the kernel has no THP.

    Since Linux 6.8 each page size has its own mode, which overrides the general one unless it is `inherit`.
    """
    directory = f"{sysfs}/kernel/mm/transparent_hugepage"
    text = read_kernel_text(f"{directory}/enabled")
    if not text:
        return None
    general = parse_mode(text)[0]
    of_sizes = _modes_of_sizes(directory).values()
    modes = {general if mode == "inherit" else mode for mode in of_sizes} or {general}
    return next((mode for mode in ("always", "madvise") if mode in modes), "never")


def _thp_modes(directory: str) -> Iterator[Family]:
    for file, metric in keys("thp_mode").items():
        if text := read_kernel_text(f"{directory}/{file}"):
            chosen, modes = parse_mode(text)
            yield family(metric, [((mode,), mode == chosen) for mode in modes])
    if sizes := _modes_of_sizes(directory):
        yield family("dbhost_thp_size_enabled", [((mode, size), 1) for size, mode in sizes.items()])


def _modes_of_sizes(directory: str) -> dict[str, str]:
    """The mode of each page size (64kB) that has one, which is since Linux 6.8."""
    names = sorted(name for name in list_names(directory) if name.startswith("hugepages-"))
    texts = {name: read_kernel_text(f"{directory}/{name}/enabled") for name in names}
    return {name.removeprefix("hugepages-"): parse_mode(text)[0] for name, text in texts.items() if text}


def _khugepaged(directory: str) -> Iterator[Family]:
    values: dict[str, float | None] = {}
    for file in keys("khugepaged"):
        number = read_int(f"{directory}/{file}")
        values[file] = number / 1000 if number is not None and file.endswith("_millisecs") else number
    yield from of_group("khugepaged", {(): values})


def numa(procfs: str, sysfs: str) -> Iterator[Family]:
    """Memory and allocations of NUMA nodes, and automatic balancing."""
    directory = f"{sysfs}/devices/system/node"
    nodes = list_numbered(directory, "node")
    if not nodes:
        raise NotOfferedError("no NUMA: /sys/devices/system/node has no nodes")

    def read(node: int, file: str) -> str:
        return read_kernel_text(f"{directory}/node{node}/{file}") or ""

    memory: Rows = {(str(node),): parse_sizes(read(node, "meminfo")) for node in nodes}
    yield from of_group("node_meminfo", memory)
    pages: Rows = {(str(node),): dict(parse_numbers(read(node, "numastat"))) for node in nodes}
    yield from of_group("numastat", pages)
    if (mode := read_int(f"{procfs}/sys/kernel/numa_balancing")) is not None:
        yield declared_value("dbhost_numa_balancing", mode)
    yield from of_group("balancing", {(): dict(parse_numbers(read_kernel_text(f"{procfs}/vmstat") or ""))})


def tlb(procfs: str, _: str) -> Iterable[Family]:
    """TLB shootdowns (one CPU invalidates translations cached by the others) and flushes."""
    # Flushes are counted by kernels built with CONFIG_DEBUG_TLBFLUSH.
    events = dict(parse_numbers(read_kernel_text(f"{procfs}/vmstat") or ""))
    interrupts = re.search(r"^\s*TLB:(.*)", read_kernel_text(f"{procfs}/interrupts") or "", re.MULTILINE)
    # Summed, because a series per CPU would be hundreds of series for one fact. Other architectures have no such line.
    shootdowns = sum(map(int, re.findall(r"\b\d+\b", interrupts[1]))) if interrupts else None
    families = list(of_group("tlb", {(): {**events, "TLB": shootdowns}}))
    if not families:
        raise NotOfferedError("no TLB line in /proc/interrupts")
    return families


COLLECTORS: dict[str, Callable[[str, str], Iterable[Family]]] = {
    "hugepages": hugepages,
    "thp": thp,
    "numa": numa,
    "tlb": tlb,
}
