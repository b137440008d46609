"""What /proc tells about one process: its files as structures. Parsing only."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stat:
    """/proc/PID/stat: times in clock ticks; start (ticks since boot) and the pid together name a process."""

    name: str
    parent: int
    minor_faults: int
    major_faults: int
    user_ticks: int
    system_ticks: int
    threads: int
    start: int


def parse_stat(text: str) -> Stat:
    """/proc/PID/stat; the name in parentheses may itself hold blanks and parentheses."""
    name_end = text.rindex(")")
    fields = text[name_end + 1 :].split()
    return Stat(
        name=text[text.index("(") + 1 : name_end],
        parent=int(fields[1]),
        minor_faults=int(fields[7]),
        major_faults=int(fields[9]),
        user_ticks=int(fields[11]),
        system_ticks=int(fields[12]),
        threads=int(fields[17]),
        start=int(fields[19]),
    )


def parse_status(text: str) -> dict[str, int]:
    """/proc/PID/status: the lines with one number; kB become bytes."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal() and (len(words) == 1 or words[1] == "kB"):
            values[name] = int(words[0]) * (1024 if len(words) == 2 else 1)
    return values


def parse_memlock(text: str) -> tuple[float, float] | None:
    """Soft and hard limit of locked memory in bytes from /proc/PID/limits; infinity for `unlimited`."""
    match = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    if match is None:
        return None
    soft, hard = (math.inf if word == "unlimited" else float(word) for word in match.groups())
    return soft, hard


@dataclass(slots=True)
class Smaps:
    """/proc/PID/smaps summed over all mappings, in bytes.

    mapped_hugetlb: page size in bytes -> what is mapped with huge pages of that size, touched or not;
    private_hugetlb, shared_hugetlb: what of it is touched.
    """

    anonymous: int = 0
    anon_hugepages: int = 0
    shmem_hugepages: int = 0
    private_hugetlb: int = 0
    shared_hugetlb: int = 0
    mapped_hugetlb: dict[int, int] = field(default_factory=dict)


_SMAPS_SUMS = {
    "Anonymous": "anonymous",
    "AnonHugePages": "anon_hugepages",
    "ShmemPmdMapped": "shmem_hugepages",
    "Private_Hugetlb": "private_hugetlb",
    "Shared_Hugetlb": "shared_hugetlb",
}
_SMAPS_LINE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def parse_smaps(text: str) -> Smaps:
    """/proc/PID/smaps (not smaps_rollup: that has no page sizes, and kernels before 4.14 lack it).

    A mapping is one of huge pages if its KernelPageSize is 1 MiB or more: base pages are at most 64 KiB.
    """
    sums: defaultdict[str, int] = defaultdict(int)
    mapped: defaultdict[int, int] = defaultdict(int)
    size = 0
    for name, kilobytes in _SMAPS_LINE.findall(text):
        if name == "Size":
            size = int(kilobytes) * 1024
        elif name == "KernelPageSize":
            if int(kilobytes) >= 1024:
                mapped[int(kilobytes) * 1024] += size
        elif name in _SMAPS_SUMS:
            sums[_SMAPS_SUMS[name]] += int(kilobytes) * 1024
    return Smaps(**sums, mapped_hugetlb=dict(mapped))


def parse_numa_maps(text: str) -> Mapping[tuple[int, int], int]:
    """/proc/PID/numa_maps: (node, page size in bytes) -> bytes of the process's pages there."""
    placed: defaultdict[tuple[int, int], int] = defaultdict(int)
    for line in text.splitlines():
        words = line.split()
        size = next((int(w[18:]) * 1024 for w in words if w.startswith("kernelpagesize_kB=")), 4096)
        for word in words:
            node, equals, pages = word.partition("=")
            if equals and node[0] == "N" and node[1:].isdecimal():
                placed[int(node[1:]), size] += int(pages) * size
    return placed
