"""What looking at the host costs: a scrape without smaps, and smaps by the memory that is mapped."""

import gc
import mmap
import os
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from ase_exporter.config.host import DEFAULT_PROCESSES, Collectors, HostConfig, ProcessGroup
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.smaps import read_smaps
from ase_exporter.metrics.exposition import render_text

pytestmark = pytest.mark.slow

SCRAPES = 200
MIB = 1024**2
_ONES = b"1" * MIB


def cpu_per_scrape(host: HostCollectors) -> float:
    """CPU seconds of one scrape, rendered; mean of many."""
    for _ in range(3):
        render_text(host.collect())
    gc.collect()
    start = time.process_time()
    for _ in range(SCRAPES):
        render_text(host.collect())
    return (time.process_time() - start) / SCRAPES


def test_a_host_scrape_without_smaps_stays_under_10_ms_of_cpu() -> None:
    """All collectors but perf, with this process as the database."""
    Path("/proc/self/comm").write_text(f"own-{os.getpid()}")
    own = ProcessGroup(database="own", name=f"own-{os.getpid()}")
    table = Table("collectors", "CPU per scrape, ms", "series", title="Host scrape without smaps")
    everything = Collectors()
    worst = 0.0
    for name in ("all", *(n for n in Collectors.__dataclass_fields__ if n != "perf")):
        only = (
            everything
            if name == "all"
            else Collectors(**{n: n == name for n in Collectors.__dataclass_fields__})
        )
        host = HostCollectors(
            HostConfig(collectors=only, processes=(own, *DEFAULT_PROCESSES), smaps_interval=0)
        )
        series = sum(len(family.samples) for family in host.collect())
        seconds = cpu_per_scrape(host)
        worst = max(worst, seconds)
        table.add_row(name, f"{seconds * 1000:.2f}", str(series))
    Console().print(table)
    assert worst < 0.010


def smaps_cost(size: int, advice: int) -> float:
    """CPU seconds to read smaps and numa_maps of this process with so many MiB of anonymous memory."""
    with mmap.mmap(-1, max(size, 1) * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area.madvise(advice)
        for offset in range(0, size * MIB, MIB):
            area[offset : offset + MIB] = _ONES
        start = time.process_time()
        read_smaps("/proc", os.getpid())
        return time.process_time() - start


def test_smaps_by_memory_mapped() -> None:
    """In small pages, and in huge ones where THP is not `never`."""
    table = Table("touched, MiB", "4 KiB pages, ms", "huge pages, ms", title="CPU of smaps and numa_maps")
    for size in (0, 256, 1024, 4096):
        small, huge = (smaps_cost(size, advice) for advice in (mmap.MADV_NOHUGEPAGE, mmap.MADV_HUGEPAGE))
        table.add_row(str(size), f"{small * 1000:.1f}", f"{huge * 1000:.1f}")
    Console().print(table)
