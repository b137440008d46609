"""On the real kernel: mapping, reserving and touching huge pages, and THP, change the metrics as expected."""

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.exporter.host.kernel_settings import (
    NR_1GIB,
    NR_HUGEPAGES,
    THP,
    KernelSettings,
)
from tests.exporter.host.kernels import values

from ase_exporter.config.host import ProcessGroup
from ase_exporter.host import kernel as readers
from ase_exporter.host.process import ProcessCollector

MIB = 1024**2
PAGE = 2 * MIB
MAP_HUGETLB = 0x40000


def huge() -> dict[str, float]:
    return values(readers.hugepages("/proc", "/sys"))


@contextmanager
def mapped(pages: int, flags: int = MAP_HUGETLB) -> Iterator[mmap.mmap]:
    area = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    try:
        yield area
    finally:
        area.close()


def touch(area: mmap.mmap) -> None:
    for offset in range(0, len(area), PAGE):
        area[offset] = 1


@pytest.fixture
def pool(kernel: KernelSettings) -> dict[str, float]:
    """64 unused huge pages of 2 MiB; returns the metrics with them."""
    kernel.pages(NR_HUGEPAGES, 64)
    before = huge()
    if before["dbhost_memory_hugepage_size_bytes"] != PAGE or before["dbhost_memory_hugepages_free"] != 64:
        pytest.skip("this machine's huge pages are in use, or their default size is not 2 MiB")
    return before


@pytest.fixture
def own_process() -> Iterator[Callable[[], dict[str, float]]]:
    """Reads the metrics of this process, as a database of that name."""
    name = Path("/proc/self/comm")
    before = name.read_text()
    name.write_text(f"own-{os.getpid()}")
    group = ProcessGroup(database="own", name=f"own-{os.getpid()}")

    def read() -> dict[str, float]:
        collector = ProcessCollector("/proc", (group,), smaps_interval=300)
        list(collector.collect())
        collector.wait()
        return values(collector.collect())

    yield read
    name.write_text(before)


def test_mapping_reserves_pages_and_touching_uses_them(
    pool: dict[str, float], own_process: Callable[[], dict[str, float]]
) -> None:
    assert pool["dbhost_memory_hugepages"] == pool["dbhost_hugepages{2048kB}"] == 64
    assert sum(v for k, v in pool.items() if k.startswith("dbhost_numa_hugepages{") and "2048kB" in k) == 64
    assert pool["dbhost_memory_hugetlb_bytes"] >= 64 * PAGE
    with mapped(8) as area:
        seen = huge()
        assert seen["dbhost_memory_hugepages_reserved"] == 8
        assert seen["dbhost_hugepages_reserved{2048kB}"] == 8
        assert seen["dbhost_hugepages_free{2048kB}"] == 64
        mine = own_process()
        assert mine["dbhost_process_hugetlb_mapped_bytes{own,own,2048kB}"] == 8 * PAGE
        assert mine["dbhost_process_hugetlb_bytes{own,own}"] == 0
        touch(area)
        seen = huge()
        assert seen["dbhost_hugepages_reserved{2048kB}"] == 0
        assert seen["dbhost_hugepages_free{2048kB}"] == 56
        assert seen["dbhost_memory_hugepages_free"] == 56
        mine = own_process()
        assert mine["dbhost_process_hugetlb_bytes{own,own}"] == 8 * PAGE
        assert mine["dbhost_process_hugetlb_private_bytes{own,own}"] == 8 * PAGE
        by_node = [v for k, v in mine.items() if k.startswith("dbhost_process_numa_bytes") and "2048kB" in k]
        assert sum(by_node) == 8 * PAGE
    assert huge()["dbhost_hugepages_free{2048kB}"] == 64


def test_a_page_of_1_gib_is_counted_separately_from_the_default_size(kernel: KernelSettings) -> None:
    if not NR_1GIB.exists():
        pytest.skip("this CPU has no pages of 1 GiB")
    before = huge()
    kernel.pages(NR_1GIB, int(NR_1GIB.read_text()) + 1)
    seen = huge()
    assert seen["dbhost_hugepages{1048576kB}"] == before["dbhost_hugepages{1048576kB}"] + 1
    assert seen["dbhost_memory_hugepages"] == before["dbhost_memory_hugepages"]
    grown = seen["dbhost_memory_hugetlb_bytes"] - before["dbhost_memory_hugetlb_bytes"]
    assert grown == 1024 * MIB


@pytest.mark.parametrize(("mode", "expected"), [("always", True), ("never", False)])
def test_thp_are_allocated_as_the_mode_says(
    kernel: KernelSettings, own_process: Callable[[], dict[str, float]], mode: str, expected: bool
) -> None:
    kernel.set(THP, mode)
    thp = values(readers.thp("/proc", "/sys"))
    assert thp[f"dbhost_thp_enabled{{{mode}}}"] == 1
    before = own_process()["dbhost_process_anon_hugepages_bytes{own,own}"]
    with mapped(32, flags=0) as area:
        touch(area)
        grown = own_process()["dbhost_process_anon_hugepages_bytes{own,own}"] - before
        after = values(readers.thp("/proc", "/sys"))
        allocated = after["dbhost_vmstat_thp_fault_alloc_total"] - thp["dbhost_vmstat_thp_fault_alloc_total"]
        tried = "dbhost_vmstat_thp_fault_fallback_total"
        if expected and after.get(tried, 0) > thp.get(tried, 0):
            pytest.skip("the kernel found no huge page for some of it: memory is too fragmented")
        if expected:
            assert grown >= 30 * PAGE  # both ends of the area may be unaligned
            assert allocated >= 30
            assert huge()["dbhost_memory_anon_hugepages_bytes"] >= 30 * PAGE
        else:
            assert grown <= 0
