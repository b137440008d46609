"""Computes how many huge pages ASE requires.

Example from the case study: 939,524,096 ASE pages of 2 KiB are 917,504 huge pages of 2 MiB. With a headroom of 512
pages (1 GiB) that is 918,016, which requires a memlock limit of 1,880,096,768 KiB.
"""

import re
from dataclasses import dataclass

from ase_exporter.errors import UserError

ASE_PAGE = 2048
# Of x86-64, and the unit of the headroom.
DEFAULT_PAGE = 2 * 1024**2
_UNITS = {"KiB": 1024, "kB": 1024, "MiB": 1024**2, "GiB": 1024**3}


@dataclass(frozen=True, slots=True)
class Requirement:
    """Memory of ASE that must fit into huge pages, in bytes, and headroom; source says where the figure comes from.

    page_size: of the huge pages, in bytes. server: the server that it applies to; None for any.
    """

    memory: int
    page_size: int
    headroom: int
    source: str
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


def requirement(
    pages: int, *, page_size: int, headroom: int = 512, source: str = "", server: str | None = None
) -> Requirement:
    """Build a requirement from ASE's memory in pages of 2 KiB; headroom is in 2 MiB pages. Raises UserError."""
    if pages <= 0:
        raise UserError(f"memory: expected a number above 0, not {pages}")
    if headroom < 0:
        raise UserError(f"headroom: expected a number of 2 MiB pages from 0, not {headroom}")
    return Requirement(pages * ASE_PAGE, page_size, headroom * DEFAULT_PAGE, source, server)


def parse_page_size(text: str) -> int:
    """Return the bytes of a huge page size such as 2MiB, or 2048kB as the kernel has it. Raises UserError."""
    match = re.fullmatch(r"(\d{1,8})([KMG]iB|kB)", text)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if not size or size & (size - 1):
        raise UserError(f"page size {text!r}: expected a power of two, such as 2MiB or 1GiB")
    return size
