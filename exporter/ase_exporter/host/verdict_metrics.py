"""Metrics of the huge-page requirement and of the host's comparison with it."""

from collections.abc import Iterator

from ase_exporter.host.files import parse_meminfo, read_text
from ase_exporter.host.hugepages import host_pools
from ase_exporter.host.sizing import Requirement
from ase_exporter.host.thp import thp_mode
from ase_exporter.host.verdict import HostState, ServerState, assess
from ase_exporter.metrics.families import Family


def read_host(procfs: str, sysfs: str, servers: tuple[ServerState, ...]) -> HostState:
    """Read the host's huge pages, THP mode and page tables; servers are passed through."""
    meminfo = parse_meminfo(read_text(f"{procfs}/meminfo") or "")
    return HostState(
        pools=tuple(host_pools(sysfs)),
        default_size=meminfo.get("Hugepagesize"),
        thp=thp_mode(sysfs),
        page_tables=meminfo.get("PageTables"),
        servers=servers,
    )


def verdict_families(need: Requirement, host: HostState) -> Iterator[Family]:
    """Yield dbhost_hugepages_required, _short, _stranded and _state."""
    required = Family(
        "dbhost_hugepages_required",
        "gauge",
        "Huge pages that the databases of this host require, including headroom (configured).",
        ("size",),
    )
    required.add(need.pages, need.size)
    short = Family("dbhost_hugepages_short", "gauge", "Required huge pages that are missing.", ("size",))
    stranded = Family(
        "dbhost_hugepages_stranded",
        "gauge",
        "Huge pages neither required nor used: memory that no program can use.",
        ("size",),
    )
    state = Family(
        "dbhost_hugepages_state",
        "gauge",
        "Comparison of the host with the requirement: 1 if the state holds, 0 if not, absent if unknown.",
        ("state",),
    )
    for check in assess(need, host):
        state.add(check.holds, check.state)
        if check.state == "short":
            short.add(check.pages, need.size)
        elif check.state == "stranded":
            stranded.add(check.pages, need.size)
    yield from (required, short, stranded, state)
