"""Computes how many huge pages ASE requires, the settings for them, and the page tables that they save.

Example from the case study: 939,524,096 ASE pages of 2 KiB are 917,504 huge pages of 2 MiB. With a headroom of 512
pages (1 GiB) that is 918,016, which requires a memlock limit of 1,880,096,768 KiB.
"""

import re
from dataclasses import dataclass

from ase_exporter.errors import UserError

ASE_PAGE = 2048
# Of x86-64, and the unit of the headroom.
DEFAULT_PAGE = 2 * 1024**2
_UNITS = {"M": 1024**2, "G": 1024**3}


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

    def settings(self, default_size: int | None) -> dict[str, str]:
        """Return what to set: file or place -> lines. default_size: the host's default huge page size in bytes.

        vm.nr_hugepages counts pages of the default size, and ASE asks for those.
        """
        unit = "G" if self.page_size % _UNITS["G"] == 0 else "M"
        short = f"{self.page_size // _UNITS[unit]}{unit}"
        sized = (
            ""
            if default_size in (None, self.page_size)
            else f"default_hugepagesz={short} hugepagesz={short} "
        )
        boot = f"{sized}hugepages={self.pages} transparent_hugepage=never"
        return {
            **({} if sized else {"/etc/sysctl.conf": f"vm.nr_hugepages={self.pages}"}),
            "kernel boot line": boot,
            "/etc/security/limits.d/99999-sybase-memlock.conf": f"sybase soft memlock {self.memlock_kib}\n"
            f"sybase hard memlock {self.memlock_kib}",
            "RUN_SERVER file, before the dataserver line": f"ulimit -l {self.memlock_kib}",
            "ASE (2 = huge pages only; the option name is case-sensitive; needs a restart)": (
                "sp_configure 'enable HugePages', 2"
            ),
        }


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
    """Return the bytes of a huge page size such as 2MiB. Raises UserError."""
    match = re.fullmatch(r"(\d{1,4})([MG])iB", text)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if not size or size & (size - 1):
        raise UserError(f"page size {text!r}: expected a power of two, such as 2MiB or 1GiB")
    return size


def page_table_bytes(touched: int, page_size: int, base_page: int) -> int:
    """Return page table bytes of one process that touched `touched` bytes in pages of a size; all in bytes.

    An entry has 8 bytes and a table fills a base page (4 KiB, 64 KiB on some ARM), so the lowest of three levels takes
    touched / 512 with pages of 4 KiB. Huge pages omit the levels whose tables map no more than one of them (x86-64:
    one level with 2 MiB, two with 1 GiB). The 594 MB saved in the case study (611 MB - 16.9 MB) are 1/512 of 297 GiB:
    that much of the host's 2 TB had been touched.
    """
    spans = (base_page * (base_page // 8) ** level for level in (1, 2, 3))
    return sum(-(-touched // span) * base_page for span in spans if span > page_size)
