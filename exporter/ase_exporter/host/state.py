"""What a host has of huge pages, and who uses them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ase_exporter.host.files import parse_sizes, read_kernel_text
from ase_exporter.host.kernel import HugePagePool, host_pools, thp_mode
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.sizing import Requirement

UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}
# Of a container: the runtime mounts what belongs to its host read-only.
_READ_ONLY = re.compile(r"^\S+ /(?:proc/sys|sys) \S+ (?:\S+,)?ro[,\s]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One running database server.

    mapped: huge page size in bytes -> bytes mapped with that size, None if smaps is not permitted or not read yet.
    """

    key: ServerKey
    mapped: Mapping[int, int] | None


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


def relevant(need: Requirement, host: HostState) -> list[ServerState]:
    """Return the servers that the requirement applies to."""
    return [
        state
        for state in host.servers
        if state.key.database == "ase" and need.server in (None, state.key.server)
    ]


def used_by_others(pool: HugePagePool, servers: list[ServerState]) -> int:
    """Return pages used or reserved by other programs; 0 if the pages that `servers` map are unknown."""
    in_use = pool.total - pool.free + (pool.reserved or 0)
    known = [server.mapped for server in servers if server.mapped is not None]
    if len(known) < len(servers):
        return 0
    return max(0, in_use - sum(mapped.get(pool.size_bytes, 0) // pool.size_bytes for mapped in known))


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
