"""Huge-page sizing, and the verdict on hosts with too few, too many or the wrong huge pages."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.host.kernels import meminfo, pool, thp, values, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError
from ase_exporter.host.kernel import HugePagePool
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.sizing import BASE_PAGE, PAGE_SIZES, page_table_bytes, requirement
from ase_exporter.host.verdict import Check, HostState, ServerState, State, assess, verdict_families
from ase_exporter.metrics.families import Family

CASES = load_yaml(Path(__file__).with_name("verdicts.yaml").read_text())
MIB, GIB = 1024**2, 1024**3
SMALL, LARGE = PAGE_SIZES["2MiB"], PAGE_SIZES["1GiB"]

# 64 pages of 2 MiB and 8 of headroom
NEED = requirement(ase_memory=64 * 1024, headroom=8)


def host(pool_: HugePagePool, *servers: ServerState, thp_mode: str = "never") -> HostState:
    return HostState(pools=(pool_,), default_size=SMALL, thp=thp_mode, page_tables=0, servers=servers)


def server(
    mapped: Mapping[int, int] | None, memlock: float = float("inf"), touched: int = 0, database: str = "ase"
) -> ServerState:
    return ServerState(ServerKey(database, "ASE1"), memlock, touched, mapped)


def of(state: str, checks: list[Check]) -> Check:
    return next(check for check in checks if check.state == state)


def test_the_example_of_the_case_study_is_reproduced() -> None:
    need = requirement(ase_memory=939_524_096)
    assert (need.memory_pages, need.headroom_pages, need.pages) == (917_504, 512, 918_016)
    assert need.memlock_kib == 1_880_096_768
    large = requirement(ase_memory=939_524_096, page_size="1GiB")
    assert large.pages == 1793
    assert large.memlock_kib == 1_880_096_768
    # A partial page counts as a whole one.
    assert requirement(memory_bytes=1, headroom=0).pages == 1
    assert requirement(memory_bytes=2 * MIB + 1, headroom=1).pages == 3


@pytest.mark.parametrize(
    ("touched_gib", "page", "mib"),
    [
        (1792, BASE_PAGE, 3584 + 7),  # PTEs and PMD entries; four pages of PUD entries
        (1792, SMALL, 7),
        (1792, LARGE, 0),
        (297, BASE_PAGE, 594 + 1.16),
    ],
)
def test_page_tables_take_8_bytes_per_page(touched_gib: int, page: int, mib: float) -> None:
    assert page_table_bytes(touched_gib * GIB, page) / MIB == pytest.approx(mib, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ase_memory": 1, "page_size": "4MiB"}, "expected one of 2MiB, 1GiB"),
        ({}, "expected either"),
        ({"ase_memory": 1, "memory_bytes": 1}, "expected either"),
        ({"ase_memory": 0}, "above 0"),
        ({"ase_memory": 1, "headroom": -1}, "from 0"),
    ],
)
def test_bad_numbers_are_rejected(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        requirement(**arguments)  # type: ignore[arg-type]


def pages(total: int, free: int, reserved: int = 0) -> HugePagePool:
    return HugePagePool(SMALL, total, free, 0, reserved)


UNUSED = pages(72, 72)
SERVING = server({SMALL: 64 * SMALL})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_states_that_hold_and_their_pages(case: dict[str, Any]) -> None:
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
    need = requirement(**case["need"]) if "need" in case else NEED
    checks = assess(need, host(pages(total, free, reserved), *servers))
    assert {check.state: check.pages for check in checks if check.holds} == case["holds"]


def test_what_is_unknown_is_omitted_and_a_server_without_huge_pages_is_named() -> None:
    assert {check.state for check in assess(NEED, host(pages(72, 8), SERVING))} == set(get_args(State))
    assert "not_used" not in {check.state for check in assess(NEED, host(UNUSED, server(None)))}
    assert "ASE1 runs without huge pages" in of("not_used", assess(NEED, host(UNUSED, server({})))).text


def test_thp_is_on_if_all_memory_gets_it() -> None:
    for mode in ("always", "madvise", "never"):
        assert of("thp_on", assess(NEED, host(UNUSED, thp_mode=mode))).holds is (mode == "always")


def test_a_wrong_page_size_is_detected_in_pools_default_and_process() -> None:
    large = requirement(ase_memory=512 * 1024, page_size="1GiB")
    only_small = host(pages(2000, 2000))
    assert "offers 2048kB only" in of("wrong_size", assess(large, only_small)).text
    both = replace(only_small, pools=(pages(0, 0), HugePagePool(LARGE, 2, 2, 0, 0)))
    assert "default size is 2048kB" in of("wrong_size", assess(large, both)).text
    small_user = replace(both, default_size=LARGE, servers=(server({SMALL: SMALL}),))
    assert "ASE1 maps pages of 2048kB" in of("wrong_size", assess(large, small_user)).text


def test_the_verdict_is_exported() -> None:
    families: list[Family] = list(verdict_families(NEED, host(pages(70, 70), server({}))))
    seen = values(families)
    pages_of = {
        what: seen[f"dbhost_hugepages_{what}{{2048kB}}"] for what in ("required", "short", "stranded")
    }
    assert pages_of == {"required": 72, "short": 2, "stranded": 0}
    states = {state: seen[f"dbhost_hugepages_state{{{state}}}"] for state in ("short", "enough", "not_used")}
    assert states == {"short": 1, "enough": 0, "not_used": 1}


@pytest.fixture
def case_host(tmp_path: Path) -> list[str]:
    """Options for the case study's host, correctly configured, without a database."""
    write_files(
        tmp_path,
        {
            **meminfo(918_016, 918_016),
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
        "1,793 of 1048576kB",
        "1,880,096,768 KiB",
        "vm.nr_hugepages=918016",
        "hugepages=918016 transparent_hugepage=never",
        "ulimit -l 1880096768",
        "594 MB",
        "enough: 918,016 pages are needed, the host has 918,016",
    ):
        assert text in result.stdout


def test_the_command_prints_json(run: Run, case_host: list[str]) -> None:
    report = json.loads(run("hugepages", "--max-memory=1048576", "--json", *case_host).stdout)
    assert report["pages"] == 1024 + 512
    assert report["memory_source"] == "--max-memory"
    assert {f["state"] for f in report["verdict"] if f["holds"]} == {"enough", "stranded"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a target to query"),
        (["--max-memory", "-5"], "above 0"),
        (["--max-memory", "5", "--memory", "5"], "--memory is for other databases"),
        (["--max-memory", "5", "--page-size", "3MiB"], "expected one of 2MiB, 1GiB"),
        (["--max-memory", "5", "--path.procfs", "/nonexistent"], "expected a mounted procfs"),
    ],
)
def test_bad_options_get_one_clear_line(run: Run, arguments: list[str], message: str) -> None:
    ended = run("hugepages", *arguments)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert message in ended.stderr


def test_the_configured_requirement_applies_without_a_target(
    run: Run, case_host: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("host:\n  required: {ase_memory: 939524096, page_size: 1GiB}\n")
    report = json.loads(run("hugepages", f"--config.file={config}", "--json", *case_host).stdout)
    assert report["pages"] == 1793
    assert {f["state"] for f in report["verdict"] if f["holds"]} == {"short", "wrong_size"}
