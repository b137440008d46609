"""What `hugepages` has for hosts of any kind: it works there, and no more is asked for than the machine has."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.host.kernels import Files, pool, thp, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.host.settings import HostSetting, what_to_set
from ase_exporter.host.sizing import Requirement, parse_page_size, requirement
from ase_exporter.host.state import HostState, read_host

HOSTS = load_yaml(Path(__file__).with_name("hosts.yaml").read_text())
KIB, MIB, GIB = 1024, 1024**2, 1024**3
NEED = requirement(16 * GIB // 2048, page_size=2 * MIB)
PLACES = {
    "sysctl": "/etc/sysctl.conf",
    "now": "now, until the next boot",
    "boot": "kernel boot line",
    "container": "start of the container (limits.d has no effect in it)",
    "nothing": "nothing",
}
# Numbers of pages in what is printed, each with the size that it counts, or none for the default one.
PAGES = re.compile(
    r"vm\.nr_hugepages=(?P<sysctl>\d+)|hugepagesz=(?P<size>\d+[KMG]) hugepages=(?P<sized>\d+)"
    r"|(?<!nr_)hugepages=(?P<boot>\d+)|echo (?P<now>\d+) > \S+/hugepages-(?P<kib>\d+)kB/nr_hugepages"
)


def files_of(case: Mapping[str, Any]) -> Files:
    """/proc and /sys of a host; a host without a default size has no line for it."""
    default = f"Hugepagesize:   {case['default']} kB\n" if "default" in case else ""
    files = {"proc/meminfo": f"MemTotal:   {case['memory']} kB\n{default}"}
    for size, count in case["pools"].items():
        files |= pool(size, count, count - case.get("used", 0))
    files |= {f"proc/{name}": text for name, text in case.get("files", {}).items()}
    return {**files, **(thp("never") if case.get("thp", True) else {})}


def read(case: Mapping[str, Any], root: Path) -> tuple[Requirement, HostState]:
    host = read_host(*write_files(root, files_of(case)), ())
    size = parse_page_size(case["page_size"]) if "page_size" in case else host.default_size or 2 * MIB
    return replace(NEED, page_size=size), host


def said(found: Mapping[str, HostSetting], place: str) -> str:
    """What a place says: its lines and its note."""
    setting = found[PLACES[place]]
    return "\n".join([*setting.lines, setting.note]) if setting.lines else f"left out: {setting.note}"


@pytest.mark.parametrize("case", HOSTS, ids=lambda case: case["name"])
def test_what_is_printed_works_on_the_host(case: dict[str, Any], tmp_path: Path) -> None:
    need, host = read(case, tmp_path)
    found = {setting.where: setting for setting in what_to_set(need, host)}
    for place in PLACES.keys() & case.keys():
        assert re.search(case[place], said(found, place)), (place, found)
    assert ("nothing" in case) == ("nothing" in found)
    assert ("container" in case) == (PLACES["container"] in found)


@pytest.mark.parametrize("case", HOSTS, ids=lambda case: case["name"])
def test_every_number_of_pages_covers_ase_and_fits_into_the_memory(
    case: dict[str, Any], tmp_path: Path
) -> None:
    """A sweep over the size of ASE, from a hundredth of the machine's memory to twenty times of it."""
    need, host = read(case, tmp_path)
    memory, units = case["memory"] * KIB, {"K": KIB, "M": MIB, "G": GIB}
    for percent in (1, 10, 25, 50, 75, 90, 99, 100, 101, 150, 200, 1000, 2000):
        swept = replace(need, memory=memory * percent // 100, headroom=0)
        found = [line for setting in what_to_set(swept, host) for line in setting.lines]
        for match in PAGES.finditer("\n".join(found)):
            size = case["default"] * KIB
            if match["size"]:
                size = int(match["size"][:-1]) * units[match["size"][-1]]
            elif match["kib"]:
                size = int(match["kib"]) * KIB
            pages = int(next(match[name] for name in ("sysctl", "sized", "boot", "now") if match[name]))
            assert size == need.page_size
            assert swept.memory <= pages * size <= memory, (percent, match[0])
        assert not found or swept.memory <= memory
