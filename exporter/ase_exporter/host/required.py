"""The requirement and the verdict as metrics, and the host's state that they need."""

from collections.abc import Iterator

from ase_exporter.families import Family
from ase_exporter.host.files import parse_meminfo, read_text
from ase_exporter.host.hugepages import host_pools
from ase_exporter.host.sizing import Requirement
from ase_exporter.host.thp import thp_mode
from ase_exporter.host.verdict import HostState, ServerState, assess


def read_host(procfs: str, sysfs: str, servers: tuple[ServerState, ...]) -> HostState:
    """The host as it is now."""
    meminfo = parse_meminfo(read_text(f"{procfs}/meminfo") or "")
    return HostState(
        pools=tuple(host_pools(sysfs)),
        default_size=meminfo.get("Hugepagesize"),
        thp=thp_mode(sysfs),
        page_tables=meminfo.get("PageTables"),
        servers=servers,
    )


def verdict_families(need: Requirement, host: HostState) -> Iterator[Family]:
    """dbhost_hugepages_required, and what the verdict says about it."""
    required = Family(
        "dbhost_hugepages_required",
        "gauge",
        "Huge pages that the databases of this host need, with headroom (configured).",
        ("size",),
    )
    required.add(need.pages, need.size)
    short = Family("dbhost_hugepages_short", "gauge", "Huge pages missing to what is required.", ("size",))
    stranded = Family(
        "dbhost_hugepages_stranded",
        "gauge",
        "Huge pages neither required nor used: memory that nobody can use.",
        ("size",),
    )
    state = Family(
        "dbhost_hugepages_state",
        "gauge",
        "The verdict: 1 for each state that holds, 0 for each that does not; none for one that is unknown.",
        ("state",),
    )
    for finding in assess(need, host):
        state.add(finding.holds, finding.state)
        if finding.state == "short":
            short.add(finding.pages, need.size)
        elif finding.state == "stranded":
            stranded.add(finding.pages, need.size)
    yield from (required, short, stranded, state)
