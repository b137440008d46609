"""How many huge pages a database needs, and what to set for them.

The arithmetic of the case study: 939,524,096 ASE pages of 2 KiB are 917,504 huge pages of 2 MiB; with 512
(1 GiB) of headroom 918,016, which takes a memlock limit of 1,880,096,768 KiB.
"""

from dataclasses import dataclass

from ase_exporter.errors import UserError

ASE_PAGE = 2048
BASE_PAGE = 4096
PAGE_SIZES = {"2MiB": 2 * 1024**2, "1GiB": 1024**3}
HEADROOM_PAGE = PAGE_SIZES["2MiB"]

# What one page of each page-table level covers (x86-64): of PTEs 2 MiB, of PMDs 1 GiB, of PUDs 512 GiB.
_TABLE_SPANS = tuple(BASE_PAGE * 512**level for level in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class AseMemory:
    """ASE's own configuration (sp_configure, run values). The first two count 2 KiB pages.

    given: where the figure comes from, if not from the option that decides.
    """

    total_logical_memory: int
    max_memory: int
    allocate_max_shared_memory: bool
    given: str = ""

    @property
    def pages(self) -> int:
        """What ASE allocates as it starts, in 2 KiB pages."""
        return self.max_memory if self.allocate_max_shared_memory else self.total_logical_memory

    @property
    def source(self) -> str:
        """Which option decides, and why."""
        if self.given:
            return self.given
        if self.allocate_max_shared_memory:
            return "max memory (allocate max shared memory is 1)"
        return "total logical memory (allocate max shared memory is 0)"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What has to fit into huge pages. All in bytes; source says where memory comes from.

    database, server: whose memory it is; None for any.
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
        """Huge pages to configure."""
        return self.memory_pages + self.headroom_pages

    @property
    def memlock_kib(self) -> int:
        """The memlock limit, in KiB as limits.conf and ulimit take it."""
        return self.pages * (self.page_size // 1024)

    @property
    def size(self) -> str:
        """The page size as the kernel names it: 2048kB."""
        return f"{self.page_size // 1024}kB"

    def settings(self) -> dict[str, str]:
        """What to set: where -> the lines."""
        lines = {}
        if self.page_size == PAGE_SIZES["2MiB"]:
            lines["/etc/sysctl.conf"] = f"vm.nr_hugepages={self.pages}"
            boot = f"hugepages={self.pages}"
        else:
            boot = f"default_hugepagesz=1G hugepagesz=1G hugepages={self.pages}"
        lines["kernel boot line"] = f"{boot} transparent_hugepage=never"
        user = "sybase" if self.database == "ase" else "DATABASE_USER"
        lines[f"/etc/security/limits.d/99999-{user}-memlock.conf"] = "\n".join(
            f"{user} {limit} memlock {self.memlock_kib}" for limit in ("soft", "hard")
        )
        if self.database == "ase":
            lines["RUN_SERVER file, before the dataserver line"] = f"ulimit -l {self.memlock_kib}"
            lines["ASE (huge pages only; the name's case counts; restart)"] = (
                "sp_configure 'enable HugePages', 2"
            )
        return lines


def requirement(
    *,
    ase_memory: int | None = None,
    memory_bytes: int | None = None,
    page_size: str = "2MiB",
    headroom: int = 512,
    source: str = "",
    server: str | None = None,
) -> Requirement:
    """A requirement from ASE pages (2 KiB) or bytes; headroom counts 2 MiB. UserError on bad numbers."""
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
    """Page tables (x86-64) of one process that touched so many bytes in pages of a size.

    An entry has 8 bytes, so that the lowest level takes touched / 512 with 4 KiB pages; huge pages do without
    that level (2 MiB) or the two lowest (1 GiB). The case study's 594 MB are its 611 MB less its 16.9 MB:
    1/512 of 297 GiB, so only so much had been touched on the host of 2 TB.
    """
    return sum(-(-touched // span) * BASE_PAGE for span in _TABLE_SPANS if span > page_size)
