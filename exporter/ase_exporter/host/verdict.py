"""Compares a host with the huge pages that its databases require, as sentences and as metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.host.declared import family, of_group
from ase_exporter.host.files import parse_sizes, read_kernel_text
from ase_exporter.host.kernel import HugePagePool, host_pools, thp_mode
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.sizing import Requirement
from ase_exporter.metrics.families import Family

State = Literal["enough", "short", "stranded", "thp_on", "memlock_low", "not_used", "wrong_size"]


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
    """The host's huge-page state. default_size: default huge page size in bytes; page_tables: bytes in use."""

    pools: tuple[HugePagePool, ...]
    default_size: int | None
    thp: str | None
    page_tables: int | None
    servers: tuple[ServerState, ...]

    def pool(self, size: int) -> HugePagePool:
        """Return the pool of a page size (bytes); an empty one if the host has none."""
        return next((pool for pool in self.pools if pool.size_bytes == size), HugePagePool(size, 0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class Check:
    """The result for one state: whether it holds, a sentence for the user, and a page count if it has one."""

    state: State
    holds: bool
    text: str
    pages: int = 0


def relevant(need: Requirement, host: HostState) -> list[ServerState]:
    """Return the servers that the requirement applies to."""
    return [
        state
        for state in host.servers
        if need.database in (None, state.key.database) and need.server in (None, state.key.server)
    ]


def assess(need: Requirement, host: HostState) -> list[Check]:
    """Return a check per state; a state that is unknown (no process, smaps not permitted) is omitted."""
    servers = relevant(need, host)
    pool = host.pool(need.page_size)
    others = _used_by_others(pool, servers)
    short = max(0, need.pages + others - pool.total)
    unreserved = pool.free - (pool.reserved or 0)
    stranded = max(0, min(pool.total - others - need.pages, unreserved))
    has = f"{pool.total:,} of {need.size}"
    if others:
        has += f", {others:,} of them taken by other programs"
    enough = "not enough" if short else "enough"
    missing = f"short by {short:,} pages ({_gib(short * need.page_size)})"
    spare = f"stranded: {stranded:,} pages ({_gib(stranded * need.page_size)}) are neither needed nor used"
    checks = [
        Check("enough", not short, f"{enough}: {need.pages:,} pages are needed, the host has {has}"),
        Check("short", short > 0, missing if short else "no page is missing", short),
        Check("stranded", stranded > 0, spare if stranded else "no page is stranded", stranded),
        _wrong_size(need, host, servers),
        _not_used(servers),
        _memlock_low(need, servers),
        _thp_on(host),
    ]
    return [check for check in checks if check]


def _used_by_others(pool: HugePagePool, servers: list[ServerState]) -> int:
    """Return pages used or reserved by other programs; 0 if the pages that `servers` map are unknown."""
    in_use = pool.total - pool.free + (pool.reserved or 0)
    own = [server.mapped_pages(pool.size_bytes) for server in servers]
    if None in own:
        return 0
    return max(0, in_use - sum(pages or 0 for pages in own))


def _wrong_size(need: Requirement, host: HostState, servers: list[ServerState]) -> Check:
    reasons = []
    if host.pools and all(pool.size_bytes != need.page_size for pool in host.pools):
        sizes = ", ".join(pool.size for pool in host.pools)
        reasons.append(f"this host offers {sizes} only")
    elif host.default_size is not None and host.default_size != need.page_size:
        size = host.default_size // 1024
        reasons.append(f"the default size is {size}kB, and a database asks for the default")
    reasons += [
        f"{server.key.server} maps pages of {size // 1024}kB"
        for server in servers
        for size in server.mapped or {}
        if size != need.page_size
    ]
    if reasons:
        return Check("wrong_size", True, f"wrong page size: {need.size} are wanted, but {'; '.join(reasons)}")
    return Check("wrong_size", False, f"the page size is right: {need.size}")


def _not_used(servers: list[ServerState]) -> Check | None:
    using = [server.key.server for server in servers if server.touched or server.mapped]
    without = [server.key.server for server in servers if not server.touched and server.mapped == {}]
    if without:
        text = f"not used by the process: {', '.join(without)} runs without huge pages"
        return Check("not_used", True, text)
    return Check("not_used", False, f"used by the process: {', '.join(using)}") if using else None


def _memlock_low(need: Requirement, servers: list[ServerState]) -> Check | None:
    # The requirement covers all servers together, so it can be compared with the limit of a single server only.
    if len(servers) != 1 or servers[0].memlock is None:
        return None
    name, limit = servers[0].key.server, servers[0].memlock
    if (servers[0].mapped_pages(need.page_size) or 0) >= need.memory_pages:
        return Check("memlock_low", False, f"memlock is no obstacle: {name} has all its pages")
    has = "unlimited" if limit == float("inf") else f"{limit / 1024:,.0f} KiB"
    if limit < need.memlock_kib * 1024:
        text = f"memlock too low: {name} has {has}, needed are {need.memlock_kib:,} KiB"
        return Check("memlock_low", True, text)
    return Check("memlock_low", False, f"memlock is enough: {name} has {has}")


def _thp_on(host: HostState) -> Check:
    if host.thp == "always":
        text = "THP on: set transparent_hugepage=never on the kernel boot line, the only sure way"
    elif host.thp == "madvise":
        text = "THP is madvise: only programs that ask get them; never is what SAP asks for"
    else:
        text = f"THP is {host.thp or 'not in this kernel'}"
    return Check("thp_on", host.thp == "always", text)


def read_host(procfs: str, sysfs: str, servers: tuple[ServerState, ...]) -> HostState:
    """Read the host's huge pages, THP mode and page tables; servers are passed through."""
    meminfo = parse_sizes(read_kernel_text(f"{procfs}/meminfo") or "")
    return HostState(
        pools=tuple(host_pools(sysfs)),
        default_size=meminfo.get("Hugepagesize"),
        thp=thp_mode(sysfs),
        page_tables=meminfo.get("PageTables"),
        servers=servers,
    )


def verdict_families(need: Requirement, host: HostState) -> Iterator[Family]:
    """Yield dbhost_hugepages_required, _short, _stranded and _state."""
    checks = assess(need, host)
    pages: dict[str, float | None] = {check.state: check.pages for check in checks}
    yield from of_group("verdict", {(need.size,): {**pages, "required": need.pages}})
    yield family("dbhost_hugepages_state", [((check.state,), check.holds) for check in checks])


def _gib(size: int) -> str:
    return f"{size / 1024**3:,.1f} GiB"
