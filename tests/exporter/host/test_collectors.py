"""Huge-page, THP, NUMA and TLB collectors on handwritten /proc and /sys of other kernels."""

import logging
from pathlib import Path

import pytest
from tests.exporter.host.kernels import BARE, KERNEL_3_10, NUMA_HOST, Files, thp, values, write_files

from ase_exporter.config.host import Collectors, HostConfig
from ase_exporter.host import kernel
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.kernel import parse_mode, thp_mode

STATIC = Collectors(process=False)


def scrape(root: Path, files: Files, collectors: Collectors = STATIC) -> dict[str, float]:
    write_files(root, files)
    config = HostConfig(procfs=root / "proc", sysfs=root / "sys", collectors=collectors)
    return values(HostCollectors(config).collect())


def test_meminfo_lines_become_bytes_and_pages(tmp_path: Path) -> None:
    seen = values(kernel.hugepages(*write_files(tmp_path, KERNEL_3_10)))
    assert seen["dbhost_memory_hugepages"] == 64
    assert seen["dbhost_memory_hugepages_free"] == 60
    assert seen["dbhost_memory_hugepages_reserved"] == 4
    assert seen["dbhost_memory_hugepage_size_bytes"] == 2 * 1024**2
    assert seen["dbhost_memory_anon_hugepages_bytes"] == 34816 * 1024
    assert seen["dbhost_memory_page_tables_bytes"] == 17306 * 1024
    assert "dbhost_memory_hugetlb_bytes" not in seen


def test_pools_are_separated_by_size_and_node(tmp_path: Path) -> None:
    seen = values(kernel.hugepages(*write_files(tmp_path, NUMA_HOST)))
    assert seen["dbhost_hugepages{2048kB}"] == 128
    assert seen["dbhost_hugepages{1048576kB}"] == 8
    assert seen["dbhost_hugepages_reserved{1048576kB}"] == 1
    assert seen["dbhost_hugepages_surplus{2048kB}"] == 2
    assert seen["dbhost_hugepages_overcommit_limit{2048kB}"] == 16
    assert seen["dbhost_hugepages_size_bytes{1048576kB}"] == 1024**3
    assert seen["dbhost_numa_hugepages{3,2048kB}"] == 43
    assert seen["dbhost_numa_hugepages_free{0,1048576kB}"] == 1
    assert "dbhost_numa_hugepages{2,2048kB}" not in seen


def test_thp_modes_settings_and_events_are_read(tmp_path: Path) -> None:
    seen = values(kernel.thp(*write_files(tmp_path, KERNEL_3_10)))
    assert seen["dbhost_thp_enabled{always}"] == 1
    assert seen["dbhost_thp_enabled{never}"] == 0
    assert seen["dbhost_thp_defrag{always}"] == 1
    assert seen["dbhost_khugepaged_scan_sleep_seconds"] == 10
    assert seen["dbhost_khugepaged_pages_collapsed_total"] == 77
    assert seen["dbhost_vmstat_thp_split_total"] == 3
    assert seen["dbhost_vmstat_compact_stall_total"] == 12
    assert not any(name.startswith("dbhost_thp_shmem") for name in seen)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("always madvise [never]\n", "never"),
        ("always defer [defer+madvise] madvise never\n", "defer+madvise"),
        ("always madvise never\n", ""),
    ],
)
def test_the_bracketed_mode_is_active(text: str, mode: str) -> None:
    assert parse_mode(text)[0] == mode


@pytest.mark.parametrize(
    ("general", "sizes", "mode"),
    [
        ("madvise", {}, "madvise"),
        ("never", {"2048": "always"}, "always"),
        ("always", {"2048": "never", "64": "never"}, "never"),
        ("always", {"2048": "inherit", "64": "never"}, "always"),
        ("never", {"2048": "inherit", "64": "madvise"}, "madvise"),
    ],
)
def test_the_mode_of_a_page_size_overrides_the_general_one(
    tmp_path: Path, general: str, sizes: dict[str, str], mode: str
) -> None:
    directory = "sys/kernel/mm/transparent_hugepage"
    of_sizes = {f"{directory}/hugepages-{size}kB/enabled": f"inherit [{m}]\n" for size, m in sizes.items()}
    assert thp_mode(write_files(tmp_path, {**thp(general), **of_sizes})[1]) == mode


def test_distances_are_assigned_to_online_nodes(tmp_path: Path) -> None:
    seen = values(kernel.numa(*write_files(tmp_path, NUMA_HOST)))
    assert seen["dbhost_numa_distance{0,3}"] == 50
    assert seen["dbhost_numa_distance{1,3}"] == 16
    assert seen["dbhost_numa_distance{3,3}"] == 10
    assert seen["dbhost_numa_memory_bytes{3}"] == (67108864 + 3) * 1024
    assert seen["dbhost_numa_miss_pages_total{1}"] == 1
    assert seen["dbhost_numa_balancing"] == 1
    assert seen["dbhost_numa_balancing_pages_migrated_total"] == 2


def test_shootdowns_are_summed_over_cpus_and_flushes_read_where_the_kernel_counts_them(
    tmp_path: Path,
) -> None:
    for files, expected in (
        (KERNEL_3_10, {"dbhost_tlb_shootdowns_total": 3566 + 3028}),
        (NUMA_HOST, {"dbhost_tlb_remote_flushes_total": 5}),
    ):
        write_files(tmp_path, {"proc/interrupts": ""})
        assert values(kernel.tlb(*write_files(tmp_path, files))) == expected


def test_a_bare_kernel_offers_nothing_and_nothing_fails(tmp_path: Path) -> None:
    seen = scrape(tmp_path, BARE)
    unavailable = {name for name in seen if name.startswith("dbhost_collector_unavailable")}
    assert {name.split("{")[1].split(",")[0] for name in unavailable} == {"hugepages", "thp", "numa", "tlb"}
    assert all(value == 1 for name, value in seen.items() if name.startswith("dbhost_collector_success"))


def test_a_failing_collector_does_not_affect_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(tmp_path, {**NUMA_HOST, "sys/devices/system/node/node1/distance": "21 ten 16\n"})
    host = HostCollectors(HostConfig(procfs=tmp_path / "proc", sysfs=tmp_path / "sys", collectors=STATIC))
    with caplog.at_level(logging.WARNING):
        seen = values(host.collect())
        values(host.collect())
    assert seen["dbhost_collector_success{numa}"] == 0
    assert seen["dbhost_collector_success{hugepages}"] == 1
    assert seen["dbhost_hugepages{2048kB}"] == 128
    assert len(caplog.records) == 1
    assert "host collector numa: ValueError" in caplog.text


def test_a_disabled_collector_exports_nothing(tmp_path: Path) -> None:
    seen = scrape(tmp_path, NUMA_HOST, Collectors(process=False, numa=False, tlb=False))
    assert "dbhost_collector_success{numa}" not in seen
    assert not any(name.startswith("dbhost_numa_distance") for name in seen)
