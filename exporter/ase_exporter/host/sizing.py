"""Computes how many huge pages a database requires, and the settings for them.

Example from the case study: 939,524,096 ASE pages of 2 KiB are 917,504 huge pages of 2 MiB. With a headroom of 512
pages (1 GiB) that is 918,016, which requires a memlock limit of 1,880,096,768 KiB.
"""

from dataclasses import dataclass
from pathlib import Path

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError

_SETTINGS = Path(__file__).with_name("settings.yaml")
ASE_PAGE = 2048
BASE_PAGE = 4096
PAGE_SIZES = {"2MiB": 2 * 1024**2, "1GiB": 1024**3}
HEADROOM_PAGE = PAGE_SIZES["2MiB"]

# Memory mapped by one page of each page-table level (x86-64): PTE 2 MiB, PMD 1 GiB, PUD 512 GiB.
_TABLE_SPANS = tuple(BASE_PAGE * 512**level for level in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class Requirement:
    """Memory that must fit into huge pages, in bytes; source says where the figure comes from.

    database, server: the server that it applies to; None for any.
    """

    memory: int
    page_size: int
    headroom: int
    source: str
    database: str | None = None
    server: str | None = None

    @property
    def memory_pages(self) -> int:
        """Huge pages for the memory alone."""
        return -(-self.memory // self.page_size)

    @property
    def headroom_pages(self) -> int:
        """Huge pages for the headroom."""
        return -(-self.headroom // self.page_size)

    @property
    def pages(self) -> int:
        """Huge pages to configure: memory and headroom."""
        return self.memory_pages + self.headroom_pages

    @property
    def memlock_kib(self) -> int:
        """The memlock limit in KiB, the unit of limits.conf and ulimit."""
        return self.pages * (self.page_size // 1024)

    @property
    def size(self) -> str:
        """The page size as the kernel names it: 2048kB."""
        return f"{self.page_size // 1024}kB"

    def settings(self) -> dict[str, str]:
        """Return the settings: file or place -> lines."""
        user = "sybase" if self.database == "ase" else "DATABASE_USER"
        values = {"pages": self.pages, "memlock": self.memlock_kib, "user": user}
        size = next(name for name, size in PAGE_SIZES.items() if size == self.page_size)
        return {
            each["where"].format(**values): each["lines"].format(**values)
            for each in load_yaml(_SETTINGS.read_text(encoding="utf-8"))
            if each.get("page_size", size) == size and each.get("database", self.database) == self.database
        }


def requirement(
    *,
    ase_memory: int | None = None,
    memory_bytes: int | None = None,
    page_size: str = "2MiB",
    headroom: int = 512,
    source: str = "",
    server: str | None = None,
) -> Requirement:
    """Build a requirement from ASE pages (2 KiB) or bytes; headroom is in 2 MiB pages. Raises UserError."""
    if page_size not in PAGE_SIZES:
        raise UserError(f"page size {page_size!r}: expected one of {', '.join(PAGE_SIZES)}")
    if (ase_memory is None) == (memory_bytes is None):
        raise UserError("expected either ASE's memory in 2 KiB pages or a memory size in bytes")
    memory = memory_bytes if ase_memory is None else ase_memory * ASE_PAGE
    if memory is None or memory <= 0:
        raise UserError(f"memory: expected a number above 0, not {memory}")
    if headroom < 0:
        raise UserError(f"headroom: expected a number of 2 MiB pages from 0, not {headroom}")
    return Requirement(
        memory=memory,
        page_size=PAGE_SIZES[page_size],
        headroom=headroom * HEADROOM_PAGE,
        source=source or ("bytes given" if ase_memory is None else "2 KiB pages given"),
        database=None if ase_memory is None else "ase",
        server=server,
    )


def page_table_bytes(touched: int, page_size: int) -> int:
    """Return page table bytes (x86-64) of one process that touched `touched` bytes in pages of a size.

    An entry has 8 bytes, so the lowest level takes touched / 512 with 4 KiB pages. Huge pages omit that level
    (2 MiB) or the two lowest (1 GiB). The 594 MB saved in the case study (611 MB - 16.9 MB) are 1/512 of
    297 GiB: that much of the host's 2 TB had been touched.
    """
    return sum(-(-touched // span) * BASE_PAGE for span in _TABLE_SPANS if span > page_size)
