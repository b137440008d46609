"""The machine under the database: huge pages, THP, NUMA, TLB, perf counters, database processes.

One subsystem, one file; in each, parsing stands apart from reading, so that text of any kernel can be tested.
`HostCollectors` runs them all.
"""

from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.config import HostConfig

__all__ = ["HostCollectors", "HostConfig"]
