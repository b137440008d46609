"""Metrics of the Linux host (`dbhost_`): huge pages, THP, NUMA, TLB, perf events, database processes.

Data flow: `files` reads /proc and /sys, parsers turn text into structures, one collector per subsystem turns
those into metric families, `HostCollectors` runs the collectors. Parsers take text, so that tests can feed them
that of any kernel.

    declared           labels, help and source of every metric (metrics.csv)
    files              read kernel files; parsers that several collectors share
    hugepages thp numa tlb
                       one collector each
    process            collector of database processes; uses process_finder (which processes form a server),
                       process_files (parsers of /proc/PID/*), smaps (background reader of smaps and numa_maps)
    perf               collector of CPU events; uses perf_profiles (which events), perf_child (runs `perf stat`),
                       perf_output (parser)
    sizing verdict verdict_metrics report ase_memory
                       huge pages required, the comparison with the host, and its output as metrics and text
"""

from typing import TYPE_CHECKING

from ase_exporter.config.host import HostConfig

if TYPE_CHECKING:
    from ase_exporter.host.collectors import HostCollectors

__all__ = ["HostCollectors", "HostConfig"]


def __getattr__(name: str) -> type:
    # Loaded on demand: workers need HostConfig alone.
    if name == "HostCollectors":
        from ase_exporter.host.collectors import HostCollectors

        return HostCollectors
    raise AttributeError(name)
