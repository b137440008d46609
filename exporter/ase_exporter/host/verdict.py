"""Compares a host with the huge pages that ASE requires, as sentences."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.host.files import parse_sizes, read_kernel_text
from ase_exporter.host.kernel import HugePagePool, host_pools, thp_mode
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.sizing import Requirement

About = Literal["pool", "stranded", "page size", "use", "memlock", "THP"]
UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}
# Of a container: the runtime mounts what belongs to its host read-only.
_READ_ONLY = re.compile(r"^\S+ /(?:proc/sys|sys) \S+ (?:\S+,)?ro[,\s]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One running database server.

    memlock: soft limit in bytes; touched: bytes in huge pages touched by its largest process; mapped: huge page
    size in bytes -> bytes mapped with that size, None if smaps is not permitted or not read yet.
    """

    key: ServerKey
    memlock: float | None
    touched: int
    mapped: Mapping[int, int] | None

    def mapped_pages(self, size: int) -> int | None:
        """Number of pages of a size (bytes) that it maps; None if unknown."""
        return None if self.mapped is None else self.mapped.get(size, 0) // size


@dataclass(frozen=True, slots=True)
class HostState:
    """The host's huge-page state. Sizes are in bytes; those that are not known are None.

    default_size: of a huge page. memory: of the machine. unlisted: sizes of huge pages that the host can have beside
    those of its pools. container: settings of the kernel are not to be changed from here.
    """

    pools: tuple[HugePagePool, ...]
    default_size: int | None
    thp: str | None
    servers: tuple[ServerState, ...]
    memory: int | None
    unlisted: frozenset[int] = frozenset()
    container: bool = False

    @property
    def sizes(self) -> list[int]:
        """Sizes of huge pages that the host can have, ascending."""
        default = {self.default_size} if self.default_size else set()
        return sorted({pool.size_bytes for pool in self.pools} | default | self.unlisted)

    @property
    def firmware_sizes(self) -> frozenset[int]:
        """Sizes that only the firmware can set aside: 16 GiB on POWER with hash page tables, which alone has 16 MiB."""
        return frozenset({16 * UNITS["G"]} if 16 * UNITS["M"] in self.sizes else ())

    @property
    def offered(self) -> str:
        """Those sizes as the kernel names them."""
        return ", ".join(f"{size // 1024}kB" for size in self.sizes)

    def pool(self, size: int) -> HugePagePool:
        """Return the pool of a page size (bytes); an empty one if the host has none."""
        return next((pool for pool in self.pools if pool.size_bytes == size), HugePagePool(size, 0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence about the host. mark: + good, ! bad, ~ neither."""

    about: About
    mark: Literal["+", "!", "~"]
    text: str


def relevant(need: Requirement, host: HostState) -> list[ServerState]:
    """Return the servers that the requirement applies to."""
    return [
        state
        for state in host.servers
        if state.key.database == "ase" and need.server in (None, state.key.server)
    ]


def assess(need: Requirement, host: HostState) -> Iterator[Check]:
    """Yield the checks; what is unknown (no process, smaps not permitted) is left out."""
    servers = relevant(need, host)
    yield from _pool(need, host.pool(need.page_size), servers)
    yield _page_size(need, host, servers)
    yield from _use(servers)
    yield from _memlock(need, servers)
    yield _thp(host)


def _pool(need: Requirement, pool: HugePagePool, servers: list[ServerState]) -> Iterator[Check]:
    others = used_by_others(pool, servers)
    needed = f"{need.pages:,} pages are needed, the host has {pool.total:,} of {need.size}"
    if others:
        needed += f", {others:,} of them taken by other programs"
    if short := max(0, need.pages + others - pool.total):
        missing = f"short by {short:,} pages ({short * need.page_size / 1024**3:,.1f} GiB)"
        yield Check("pool", "!", f"not enough, {missing}: {needed}")
    else:
        yield Check("pool", "+", f"enough: {needed}")
    unreserved = pool.free - (pool.reserved or 0)
    if (stranded := min(pool.total - others - need.pages, unreserved)) > 0:
        size = f"{stranded * need.page_size / 1024**3:,.1f} GiB"
        yield Check("stranded", "!", f"stranded: {stranded:,} pages ({size}) are neither needed nor used")
    else:
        yield Check("stranded", "+", "no page is stranded")


def used_by_others(pool: HugePagePool, servers: list[ServerState]) -> int:
    """Return pages used or reserved by other programs; 0 if the pages that `servers` map are unknown."""
    in_use = pool.total - pool.free + (pool.reserved or 0)
    own = [server.mapped_pages(pool.size_bytes) for server in servers]
    if None in own:
        return 0
    return max(0, in_use - sum(pages or 0 for pages in own))


def _page_size(need: Requirement, host: HostState, servers: list[ServerState]) -> Check:
    reasons = []
    if need.page_size not in host.sizes:
        reasons.append(f"this host offers {host.offered} only" if host.sizes else "this kernel offers none")
    elif host.default_size is not None and host.default_size != need.page_size:
        reasons.append(f"the default size is {host.default_size // 1024}kB, and ASE asks for the default")
    reasons += [
        f"{server.key.server} maps pages of {size // 1024}kB"
        for server in servers
        for size in server.mapped or {}
        if size != need.page_size
    ]
    if reasons:
        return Check("page size", "!", f"wrong page size: {need.size} are wanted, but {'; '.join(reasons)}")
    return Check("page size", "+", f"the page size is right: {need.size}")


def _use(servers: list[ServerState]) -> Iterator[Check]:
    using = [server.key.server for server in servers if server.touched or server.mapped]
    without = [server.key.server for server in servers if not server.touched and server.mapped == {}]
    if without:
        yield Check("use", "!", f"not used by the process: {', '.join(without)} runs without huge pages")
    elif using:
        yield Check("use", "+", f"used by the process: {', '.join(using)}")


def _memlock(need: Requirement, servers: list[ServerState]) -> Iterator[Check]:
    # The requirement covers all servers together, so it can be compared with the limit of a single server only.
    if len(servers) != 1 or servers[0].memlock is None:
        return
    name, limit = servers[0].key.server, servers[0].memlock
    has = "unlimited" if limit == float("inf") else f"{limit / 1024:,.0f} KiB"
    if (servers[0].mapped_pages(need.page_size) or 0) >= need.memory_pages:
        yield Check("memlock", "+", f"memlock is no obstacle: {name} has all its pages")
    elif limit < need.memlock_kib * 1024:
        text = f"memlock too low: {name} has {has}, needed are {need.memlock_kib:,} KiB"
        yield Check("memlock", "!", text)
    else:
        yield Check("memlock", "+", f"memlock is enough: {name} has {has}")


def _thp(host: HostState) -> Check:
    if host.thp == "always":
        return Check(
            "THP", "!", "THP on: set transparent_hugepage=never on the kernel boot line, the only sure way"
        )
    if host.thp == "madvise":
        return Check(
            "THP", "~", "THP is madvise: only programs that ask get them; never is what SAP asks for"
        )
    return Check("THP", "+", f"THP is {host.thp or 'not in this kernel'}")


def read_host(procfs: str, sysfs: str, servers: tuple[ServerState, ...]) -> HostState:
    """Read the host's memory, huge pages and THP mode; servers are passed through."""
    meminfo = parse_sizes(read_kernel_text(f"{procfs}/meminfo") or "")
    pools, default = tuple(host_pools(sysfs)), meminfo.get("Hugepagesize")
    return HostState(
        pools=pools,
        default_size=default,
        thp=thp_mode(sysfs),
        servers=servers,
        memory=meminfo.get("MemTotal"),
        unlisted=_unlisted_sizes(procfs) if pools or default else frozenset(),
        container=_READ_ONLY.search(read_kernel_text(f"{procfs}/self/mounts") or "") is not None,
    )


def _unlisted_sizes(procfs: str) -> frozenset[int]:
    """Sizes in bytes that the CPU has and that sysfs lists once the boot line names them: 1 GiB of older kernels."""
    flags = re.search(r"^flags\s*:.*\bpdpe1gb\b", read_kernel_text(f"{procfs}/cpuinfo") or "", re.MULTILINE)
    return frozenset({UNITS["G"]}) if flags else frozenset()
