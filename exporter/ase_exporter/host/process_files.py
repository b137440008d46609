"""Parsers of one process's files: /proc/PID/stat, status, limits, smaps, numa_maps."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class ProcessStat(NamedTuple):
    """/proc/PID/stat. start: in clock ticks since boot; tells reused pids apart.

    counted: user and system time in clock ticks, minor and major faults.
    """

    name: str
    parent: int
    start: int
    counted: tuple[int, int, int, int]


def parse_stat(text: str) -> ProcessStat:
    """Parse /proc/PID/stat. The name in parentheses may itself contain blanks and parentheses."""
    name_end = text.rindex(")")
    fields = text[name_end + 1 :].split()
    minor, major, user, system = (int(fields[index]) for index in (7, 9, 11, 12))
    name = text[text.index("(") + 1 : name_end]
    return ProcessStat(name, int(fields[1]), int(fields[19]), (user, system, minor, major))


def parse_memlock(text: str) -> tuple[float, float] | None:
    """Return soft and hard memlock limit in bytes from /proc/PID/limits; infinity for `unlimited`."""
    match = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    if match is None:
        return None
    soft, hard = (math.inf if word == "unlimited" else float(word) for word in match.groups())
    return soft, hard


_SMAPS_LINE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


class Smaps(NamedTuple):
    """/proc/PID/smaps in bytes. sums: lines by name, summed over all mappings.

    mapped_hugetlb: huge page size in bytes -> bytes mapped with that size, touched or not.
    """

    sums: Mapping[str, int]
    mapped_hugetlb: Mapping[int, int]


def parse_smaps(text: str, lines: Iterable[str]) -> Smaps:
    """Parse /proc/PID/smaps (smaps_rollup has no page sizes and does not exist before Linux 4.14). lines: to be summed.

    A mapping uses huge pages if its KernelPageSize is 1 MiB or more: base pages are 64 KiB at most.
    """
    sums = dict.fromkeys(lines, 0)
    mapped: defaultdict[int, int] = defaultdict(int)
    size = 0
    for name, kilobytes in _SMAPS_LINE.findall(text):
        if name == "Size":
            size = int(kilobytes) * 1024
        elif name == "KernelPageSize" and int(kilobytes) >= 1024:
            mapped[int(kilobytes) * 1024] += size
        elif name in sums:
            sums[name] += int(kilobytes) * 1024
    return Smaps(sums, mapped)


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
