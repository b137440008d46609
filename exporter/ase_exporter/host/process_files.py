"""Parsers of one process's files: /proc/PID/stat, status, limits, smaps, numa_maps."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """/proc/PID/stat. Times are in clock ticks; start is in ticks since boot and tells reused pids apart."""

    name: str
    parent: int
    minor_faults: int
    major_faults: int
    user_ticks: int
    system_ticks: int
    threads: int
    start: int


def parse_stat(text: str) -> ProcessStat:
    """Parse /proc/PID/stat. The name in parentheses may itself contain blanks and parentheses."""
    name_end = text.rindex(")")
    fields = text[name_end + 1 :].split()
    return ProcessStat(
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
    """Parse the lines of /proc/PID/status that hold one number; kB become bytes."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal() and (len(words) == 1 or words[1] == "kB"):
            values[name] = int(words[0]) * (1024 if len(words) == 2 else 1)
    return values


def parse_memlock(text: str) -> tuple[float, float] | None:
    """Return soft and hard memlock limit in bytes from /proc/PID/limits; infinity for `unlimited`."""
    match = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    if match is None:
        return None
    soft, hard = (math.inf if word == "unlimited" else float(word) for word in match.groups())
    return soft, hard


@dataclass(slots=True)
class Smaps:
    """/proc/PID/smaps, summed over all mappings, in bytes.

    mapped_hugetlb: huge page size in bytes -> bytes mapped with that size, touched or not;
    private_hugetlb, shared_hugetlb: the touched part of it.
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
    """Parse /proc/PID/smaps (smaps_rollup has no page sizes and does not exist before Linux 4.14).

    A mapping uses huge pages if its KernelPageSize is 1 MiB or more: base pages are 64 KiB at most.
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
    """Parse /proc/PID/numa_maps: (node, page size in bytes) -> bytes of the process on that node."""
    placed: defaultdict[tuple[int, int], int] = defaultdict(int)
    for line in text.splitlines():
        words = line.split()
        size = next((int(w[18:]) * 1024 for w in words if w.startswith("kernelpagesize_kB=")), 4096)
        for word in words:
            node, equals, pages = word.partition("=")
            if equals and node[0] == "N" and node[1:].isdecimal():
                placed[int(node[1:]), size] += int(pages) * size
    return placed
