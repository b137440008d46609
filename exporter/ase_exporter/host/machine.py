"""The kinds of machines that Linux distinguishes: page sizes and page tables of each, and which of them a host is."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import TypeAdapter

from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict, Validator
from ase_exporter.config.host import Pattern
from ase_exporter.host.files import read_kernel_text

UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
# Of a container: the runtime mounts what belongs to its host read-only.
_READ_ONLY = re.compile(r"^\S+ /(?:proc/sys|sys) \S+ (?:\S+,)?ro[,\s]", re.MULTILINE)
_BASE_PAGE = re.compile(r"^KernelPageSize:\s+(\d+) kB$", re.MULTILINE)


def _bytes(text: object) -> int:
    if not (match := re.fullmatch(r"(\d+)([KMG]?)", str(text))):
        raise ValueError("expected a size such as 2M")
    return int(match[1]) * UNITS[match[2]]


Bytes = Annotated[int, Validator(_bytes, before=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture(Strict):
    """A CPU with one base page size; the comments in architectures.yaml describe the fields."""

    name: str
    cpuinfo: Pattern
    machine: str
    base_page: Bytes
    sizes: frozenset[Bytes]
    tables: Sequence[tuple[Bytes, Bytes]]
    firmware_sizes: frozenset[Bytes] = frozenset()

    def page_tables(self, touched: int, page_size: int) -> int:
        """Return page table bytes of one process that touched `touched` bytes in pages of a size.

        Huge pages omit the levels whose tables map no more than one of them (x86-64: one level with 2 MiB, two with
        1 GiB). The 594 MB saved in the case study (611 MB - 16.9 MB) are 1/512 of 297 GiB: that much of the host's
        2 TB had been touched.
        """
        return sum(-(-touched // span) * taken for span, taken in self.tables if span > page_size)


@cache
def architectures() -> tuple[Architecture, ...]:
    """The content of architectures.yaml."""
    file = Path(__file__).with_name("architectures.yaml")
    return yaml_files.load_shipped(file, TypeAdapter(tuple[Architecture, ...]))


def architecture(procfs: str, sizes: Iterable[int]) -> Architecture:
    """The architecture of the host whose /proc this is and whose huge pages have these sizes (bytes)."""
    found = frozenset(sizes)
    cpuinfo = read_kernel_text(f"{procfs}/cpuinfo") or ""
    pages = [int(kib) * 1024 for kib in _BASE_PAGE.findall(read_kernel_text(f"{procfs}/self/smaps") or "")]
    return max(
        architectures(),
        key=lambda each: (
            found <= each.sizes,
            re.search(each.cpuinfo, cpuinfo, re.MULTILINE) is not None,
            each.base_page == min(pages, default=0),
            each.machine == os.uname().machine,
        ),
    )


def unlisted_sizes(procfs: str) -> frozenset[int]:
    """Sizes in bytes that the CPU has and that sysfs lists once the boot line names them: 1 GiB of older kernels."""
    flags = re.search(r"^flags\s*:.*\bpdpe1gb\b", read_kernel_text(f"{procfs}/cpuinfo") or "", re.MULTILINE)
    return frozenset({UNITS["G"]}) if flags else frozenset()


def in_container(procfs: str) -> bool:
    """Whether this process runs in a container that leaves the settings of the kernel to its host."""
    return _READ_ONLY.search(read_kernel_text(f"{procfs}/self/mounts") or "") is not None
