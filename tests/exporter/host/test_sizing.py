"""How many huge pages ASE needs, and how many of a host's are those of others."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.host.kernels import meminfo, pool, thp, write_files

from ase_exporter.errors import UserError
from ase_exporter.host.kernel import HugePagePool
from ase_exporter.host.process_finder import ServerKey
from ase_exporter.host.settings import what_to_set
from ase_exporter.host.sizing import parse_page_size, requirement
from ase_exporter.host.state import HostState, ServerState

KIB, MIB, GIB = 1024, 1024**2, 1024**3
SMALL, LARGE = 2 * MIB, GIB

# 64 pages of 2 MiB and 8 of headroom
NEED = requirement(64 * 1024, page_size=SMALL, headroom=8)


def host(pool: HugePagePool, *servers: ServerState) -> HostState:
    return HostState((pool,), SMALL, "never", servers, 16 * GIB)


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


OWN, OTHER = ServerKey("ase", "ASE1"), ServerKey("ase", "ASE2")


@pytest.mark.parametrize(
    ("servers", "server", "others"),
    [
        ([], None, 50),
        ([ServerState(OWN, {SMALL: 10 * SMALL})], None, 40),
        ([ServerState(OWN, {SMALL: 64 * SMALL})], None, 0),
        ([ServerState(OWN, {})], None, 50),
        ([ServerState(OWN, None)], None, 0),
        ([ServerState(ServerKey("mydb", "ASE1"), {SMALL: 10 * SMALL})], None, 50),
        ([ServerState(OWN, {SMALL: 10 * SMALL}), ServerState(OTHER, {SMALL: 20 * SMALL})], None, 20),
        ([ServerState(OWN, {SMALL: 10 * SMALL}), ServerState(OTHER, {SMALL: 20 * SMALL})], "ASE1", 40),
    ],
)
def test_pages_of_others_are_added(servers: list[ServerState], server: str | None, others: int) -> None:
    """40 pages are in use and 10 reserved; those of ASE are as many as it maps, and unknown without smaps."""
    pool = HugePagePool(SMALL, 100, 60, 0, 10)
    found = what_to_set(replace(NEED, server=server), host(pool, *servers))
    settings = {each.where: each for each in found}
    set_now = settings["/etc/sysctl.conf"]
    assert set_now.lines == (f"vm.nr_hugepages={72 + others}",)
    assert ("other programs" in set_now.note) == (others > 0)


@pytest.fixture
def case_host(tmp_path: Path) -> Path:
    """A configuration for the case study's host, correctly set, without a database."""
    procfs, sysfs = write_files(
        tmp_path,
        {
            **meminfo(918_016, 918_016, MemTotal=2 * 1024**3),
            **pool(2048, 918_016, 918_016),
            **thp("never"),
            "proc/1/comm": "init\n",
        },
    )
    (tmp_path / "host.yaml").write_text(f"host: {{procfs: {procfs}, sysfs: {sysfs}}}")
    return tmp_path / "host.yaml"


def test_the_command_prints_pages_limits_and_lines(run: Run, case_host: Path) -> None:
    result = run("hugepages", "--max-memory=939524096", f"--config.file={case_host}")
    assert result.returncode == 0
    for text in (
        "918,016 of 2048kB",
        "917,504 + 512 headroom",
        "1,880,096,768 KiB",
        "vm.nr_hugepages=918016",
        "hugepages=918016 transparent_hugepage=never",
        "ulimit -l 1880096768",
    ):
        assert text in result.stdout
