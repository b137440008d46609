"""Huge-page sizing, and the verdict on hosts with too few, too many or the wrong huge pages."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.host.kernels import meminfo, pool, thp, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError
from ase_exporter.host.kernel import HugePagePool
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.sizing import parse_page_size, requirement
from ase_exporter.host.verdict import Check, HostState, ServerState, assess

CASES = load_yaml(Path(__file__).with_name("verdicts.yaml").read_text())
KIB, MIB, GIB = 1024, 1024**2, 1024**3
SMALL, LARGE = 2 * MIB, GIB

# 64 pages of 2 MiB and 8 of headroom
NEED = requirement(64 * 1024, page_size=SMALL, headroom=8)


def host(pool_: HugePagePool, *servers: ServerState, thp_mode: str = "never") -> HostState:
    return HostState(
        pools=(pool_,),
        default_size=SMALL,
        thp=thp_mode,
        servers=servers,
        memory=16 * GIB,
    )


def server(
    mapped: Mapping[int, int] | None, memlock: float = float("inf"), touched: int = 0, database: str = "ase"
) -> ServerState:
    return ServerState(ServerKey(database, "ASE1"), memlock, touched, mapped)


def of(about: str, checks: Iterable[Check]) -> Check:
    return next(check for check in checks if check.about == about)


def test_the_example_of_the_case_study_is_reproduced() -> None:
    need = requirement(939_524_096, page_size=SMALL)
    assert (need.memory_pages, need.headroom_pages, need.pages) == (917_504, 512, 918_016)
    assert need.memlock_kib == 1_880_096_768
    large = requirement(939_524_096, page_size=LARGE)
    assert large.pages == 1793
    assert large.memlock_kib == 1_880_096_768


def test_a_partial_page_counts_as_a_whole_one() -> None:
    assert requirement(1, page_size=SMALL, headroom=0).pages == 1
    assert requirement(1025, page_size=SMALL, headroom=1).pages == 3


@pytest.mark.parametrize(
    ("pages", "headroom", "message"), [(0, 512, "above 0"), (-5, 512, "above 0"), (1, -1, "from 0")]
)
def test_bad_numbers_are_rejected(pages: int, headroom: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        requirement(pages, page_size=SMALL, headroom=headroom)


def test_page_sizes_are_powers_of_two() -> None:
    texts = ("64KiB", "2048kB", "16MiB", "512MiB", "16777216kB", "2GiB")
    sizes = [64 * KIB, SMALL, 16 * MIB, 512 * MIB, 16 * GIB, 2 * GIB]
    assert [parse_page_size(text) for text in texts] == sizes
    for text in ("3MiB", "0MiB", "3072kB", "2MB", "2", "", "2MiB ", "-2MiB"):
        with pytest.raises(UserError, match="expected a power of two"):
            parse_page_size(text)


def pages(total: int, free: int, reserved: int = 0) -> HugePagePool:
    return HugePagePool(SMALL, total, free, 0, reserved)


UNUSED = pages(72, 72)
SERVING = server({SMALL: 64 * SMALL})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_bad_is_said_with_its_figures(case: dict[str, Any]) -> None:
    total, free, reserved = case["pool"]
    servers = [
        server(
            None if each["mapped"] is None else {SMALL: each["mapped"] * SMALL} if each["mapped"] else {},
            memlock=each.get("memlock", math.inf) * 1024,
            touched=each.get("touched", 0) * SMALL,
            database=each.get("database", "ase"),
        )
        for each in case["servers"]
    ]
    need = replace(NEED, server=case.get("server"))
    checks = list(assess(need, host(pages(total, free, reserved), *servers)))
    bad = {check.about: check.text for check in checks if check.mark == "!"}
    assert bad.keys() == case["bad"].keys()
    assert not [text for about, text in bad.items() if not re.search(case["bad"][about], text)]


def test_what_is_unknown_is_left_out() -> None:
    everything = {"pool", "stranded", "page size", "use", "memlock", "THP"}
    assert {check.about for check in assess(NEED, host(pages(72, 8), SERVING))} == everything
    assert {check.about for check in assess(NEED, host(UNUSED, server(None)))} == everything - {"use"}
    assert {check.about for check in assess(NEED, host(UNUSED))} == everything - {"use", "memlock"}


def test_thp_is_bad_if_all_memory_gets_it() -> None:
    for mode, mark in (("always", "!"), ("madvise", "~"), ("never", "+")):
        assert of("THP", assess(NEED, host(UNUSED, thp_mode=mode))).mark == mark


def test_a_wrong_page_size_is_detected_in_pools_default_and_process() -> None:
    large = replace(NEED, page_size=LARGE)
    only_small = host(pages(2000, 2000))
    assert "offers 2048kB only" in of("page size", assess(large, only_small)).text
    both = replace(only_small, pools=(pages(0, 0), HugePagePool(LARGE, 2, 2, 0, 0)))
    assert "default size is 2048kB" in of("page size", assess(large, both)).text
    small_user = replace(both, default_size=LARGE, servers=(server({SMALL: SMALL}),))
    assert "ASE1 maps pages of 2048kB" in of("page size", assess(large, small_user)).text


@pytest.fixture
def case_host(tmp_path: Path) -> list[str]:
    """Options for the case study's host, correctly configured, without a database."""
    write_files(
        tmp_path,
        {
            **meminfo(918_016, 918_016, MemTotal=2 * 1024**3),
            **pool(2048, 918_016, 918_016),
            **thp("never"),
            "proc/1/comm": "init\n",
        },
    )
    return ["--path.procfs", str(tmp_path / "proc"), "--path.sysfs", str(tmp_path / "sys")]


def test_the_command_prints_pages_limits_lines_and_verdict(run: Run, case_host: list[str]) -> None:
    result = run("hugepages", "--max-memory=939524096", *case_host)
    assert result.returncode == 0
    for text in (
        "918,016 of 2048kB",
        "917,504 + 512 headroom",
        "1,880,096,768 KiB",
        "vm.nr_hugepages=918016",
        "hugepages=918016 transparent_hugepage=never",
        "ulimit -l 1880096768",
        "enough: 918,016 pages are needed, the host has 918,016",
    ):
        assert text in result.stdout
