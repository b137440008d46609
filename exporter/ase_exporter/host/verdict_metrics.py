"""Metrics of the huge-page requirement and of the host's comparison with it."""

from collections.abc import Iterator

from ase_exporter.host.declared import family
from ase_exporter.host.files import parse_meminfo, read_kernel_text
from ase_exporter.host.hugepages import host_pools
from ase_exporter.host.sizing import Requirement
from ase_exporter.host.thp import thp_mode
from ase_exporter.host.verdict import HostState, ServerState, assess
from ase_exporter.metrics.families import Family


def read_host(procfs: str, sysfs: str, servers: tuple[ServerState, ...]) -> HostState:
    """Read the host's huge pages, THP mode and page tables; servers are passed through."""
    meminfo = parse_meminfo(read_kernel_text(f"{procfs}/meminfo") or "")
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
    pages = {check.state: [((need.size,), float(check.pages))] for check in checks}
    yield family("dbhost_hugepages_required", [((need.size,), need.pages)])
    yield family("dbhost_hugepages_short", pages.get("short", ()))
    yield family("dbhost_hugepages_stranded", pages.get("stranded", ()))
    yield family("dbhost_hugepages_state", [((check.state,), check.holds) for check in checks])
