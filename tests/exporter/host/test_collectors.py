"""Huge-page, THP, NUMA and TLB collectors on handwritten /proc and /sys of other kernels."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.host.kernels import KERNELS, NUMA_HOST, Files, thp, values, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.config.host import Collectors, HostConfig
from ase_exporter.host import kernel
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.kernel import parse_mode, thp_mode
from ase_exporter.metrics.families import Family

EXPECTED = load_yaml(Path(__file__).with_name("expected.yaml").read_text())
STATIC = Collectors(process=False)


def scrape(root: Path, files: Files, collectors: Collectors = STATIC) -> dict[str, float]:
    write_files(root, files)
    config = HostConfig(procfs=root / "proc", sysfs=root / "sys", collectors=collectors)
    return values(HostCollectors(config).collect())


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: f"{case['collector']} of {case['kernel']}")
def test_a_collector_reads_what_a_kernel_has(tmp_path: Path, case: dict[str, Any]) -> None:
    collect = kernel.COLLECTORS[case["collector"]]
    seen = values(collect(*write_files(tmp_path, KERNELS[case["kernel"]])))
    assert {name: seen.get(name) for name in case["values"]} == case["values"]
    assert not [name for name in seen if name.startswith(tuple(case["absent"]))]


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


def test_a_bare_kernel_offers_nothing_and_nothing_fails(tmp_path: Path) -> None:
    seen = scrape(tmp_path, KERNELS["bare"])
    unavailable = {name for name in seen if name.startswith("dbhost_collector_unavailable")}
    assert {name.split("{")[1].split(",")[0] for name in unavailable} == {"hugepages", "thp", "numa", "tlb"}
    assert all(value == 1 for name, value in seen.items() if name.startswith("dbhost_collector_success"))


def test_a_failing_collector_does_not_affect_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_: str) -> Iterator[Family]:
        yield from ()
        raise ValueError("odd")

    monkeypatch.setitem(kernel.COLLECTORS, "numa", odd)
    write_files(tmp_path, NUMA_HOST)
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
    assert not any(name.startswith("dbhost_numa_memory") for name in seen)
