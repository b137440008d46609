"""The machine under the database: huge pages, THP, NUMA, TLB, perf counters, database processes.

One subsystem, one file; in each, parsing stands apart from reading, so that text of any kernel can be tested.
`HostCollectors` runs them all.
"""

from typing import TYPE_CHECKING

from ase_exporter.host.config import HostConfig

if TYPE_CHECKING:
    from ase_exporter.host.collectors import HostCollectors

__all__ = ["HostCollectors", "HostConfig"]


def __getattr__(name: str) -> type:
    # Workers read the configuration of the host, but nothing of the host itself.
    if name == "HostCollectors":
        from ase_exporter.host.collectors import HostCollectors

        return HostCollectors
    raise AttributeError(name)
