"""A host as it is against what its databases need in huge pages: the verdict. Arithmetic only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.host.finder import ServerKey
from ase_exporter.host.hugepages import Pool
from ase_exporter.host.sizing import Requirement

State = Literal["enough", "short", "stranded", "thp_on", "memlock_low", "not_used", "wrong_size"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """One running database server.

    memlock: soft limit in bytes; touched: bytes in huge pages that its largest process touched; mapped: page
    size in bytes -> bytes it maps with such pages, None where smaps is closed to us or not read yet.
    """

    key: ServerKey
    memlock: float | None
    touched: int
    mapped: Mapping[int, int] | None

    @property
    def uses_huge_pages(self) -> bool | None:
        """Whether it does; None if that cannot be known."""
        if self.touched or self.mapped:
            return True
        return None if self.mapped is None else False

    def mapped_pages(self, size: int) -> int | None:
        """Pages of a size that it maps; None if unknown."""
        return None if self.mapped is None else self.mapped.get(size, 0) // size


@dataclass(frozen=True, slots=True)
class HostState:
    """What matters of the host. default_size: of huge pages, in bytes; page_tables: bytes in use now."""

    pools: tuple[Pool, ...]
    default_size: int | None
    thp: str | None
    page_tables: int | None
    servers: tuple[ServerState, ...]

    def pool(self, size: int) -> Pool:
        """The pool of a page size; an empty one where the host has none."""
        return next((pool for pool in self.pools if pool.size_bytes == size), Pool(size, 0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class Finding:
    """One state, whether it holds, and the sentence that says so; pages: of those that count pages."""

    state: State
    holds: bool
    text: str
    pages: int = 0


def relevant(need: Requirement, host: HostState) -> list[ServerState]:
    """The servers that the requirement is about."""
    return [
        state
        for state in host.servers
        if need.database in (None, state.key.database) and need.server in (None, state.key.server)
    ]


def assess(need: Requirement, host: HostState) -> list[Finding]:
    """Every state that can be judged here; one that cannot (no such process, smaps closed) is left out."""
    servers = relevant(need, host)
    pool = host.pool(need.page_size)
    available = pool.total - _taken_by_others(pool, servers)
    short = max(0, need.pages - available)
    unpromised = pool.free - (pool.reserved or 0)
    stranded = max(0, min(available - need.pages, unpromised))
    return [
        *_enough(need, pool, available, short),
        Finding(
            "stranded",
            stranded > 0,
            f"stranded: {stranded:,} pages ({_gib(stranded * need.page_size)}) are neither needed nor used"
            if stranded
            else "no page is stranded",
            stranded,
        ),
        *_wrong_size(need, host, servers),
        *_not_used(servers),
        *_memlock_low(need, servers),
        *_thp_on(host),
    ]


def _taken_by_others(pool: Pool, servers: list[ServerState]) -> int:
    """Pages that other programs use or were promised; none if it is unknown what our own servers map."""
    in_use = pool.total - pool.free + (pool.reserved or 0)
    own = [server.mapped_pages(pool.size_bytes) for server in servers]
    if None in own:
        return 0
    return max(0, in_use - sum(pages or 0 for pages in own))


def _enough(need: Requirement, pool: Pool, available: int, short: int) -> Iterator[Finding]:
    others = pool.total - available
    has = f"{pool.total:,} of {need.size}" + (
        f", {others:,} of them taken by other programs" if others else ""
    )
    yield Finding(
        "enough",
        short == 0,
        f"enough: {need.pages:,} pages are needed, the host has {has}"
        if short == 0
        else f"not enough: {need.pages:,} pages are needed, the host has {has}",
    )
    yield Finding(
        "short",
        short > 0,
        f"short by {short:,} pages ({_gib(short * need.page_size)})" if short else "no page is missing",
        short,
    )


def _wrong_size(need: Requirement, host: HostState, servers: list[ServerState]) -> Iterator[Finding]:
    reasons = []
    if host.pools and all(pool.size_bytes != need.page_size for pool in host.pools):
        sizes = ", ".join(pool.size for pool in host.pools)
        reasons.append(f"this host offers {sizes} only")
    elif host.default_size is not None and host.default_size != need.page_size:
        reasons.append(
            f"the default size is {host.default_size // 1024}kB, and a database asks for the default"
        )
    reasons += [
        f"{server.key.server} maps pages of {size // 1024}kB"
        for server in servers
        for size in server.mapped or {}
        if size != need.page_size
    ]
    yield Finding(
        "wrong_size",
        bool(reasons),
        f"wrong page size: {need.size} are wanted, but {'; '.join(reasons)}"
        if reasons
        else f"the page size is right: {need.size}",
    )


def _not_used(servers: list[ServerState]) -> Iterator[Finding]:
    known = [server for server in servers if server.uses_huge_pages is not None]
    if not known:
        return
    without = [server.key.server for server in known if not server.uses_huge_pages]
    with_pages = [server.key.server for server in known if server.uses_huge_pages]
    yield Finding(
        "not_used",
        bool(without),
        f"not used by the process: {', '.join(without)} runs without huge pages"
        if without
        else f"used by the process: {', '.join(with_pages)}",
    )


def _memlock_low(need: Requirement, servers: list[ServerState]) -> Iterator[Finding]:
    # A requirement is for all servers together: only a lone server's limit can be held against it.
    if len(servers) != 1 or servers[0].memlock is None:
        return
    server, limit = servers[0], servers[0].memlock
    if (server.mapped_pages(need.page_size) or 0) >= need.memory_pages:
        yield Finding("memlock_low", False, f"memlock is no obstacle: {server.key.server} has all its pages")
        return
    low = limit < need.memlock_kib * 1024
    has = "unlimited" if limit == float("inf") else f"{limit / 1024:,.0f} KiB"
    yield Finding(
        "memlock_low",
        low,
        f"memlock too low: {server.key.server} has {has}, needed are {need.memlock_kib:,} KiB"
        if low
        else f"memlock is enough: {server.key.server} has {has}",
    )


def _thp_on(host: HostState) -> Iterator[Finding]:
    if host.thp == "always":
        text = "THP on: set transparent_hugepage=never on the kernel boot line, the only sure way"
    elif host.thp == "madvise":
        text = "THP is madvise: only programs that ask get them; never is what SAP asks for"
    else:
        text = f"THP is {host.thp or 'not in this kernel'}"
    yield Finding("thp_on", host.thp == "always", text)


def _gib(size: int) -> str:
    return f"{size / 1024**3:,.1f} GiB"
