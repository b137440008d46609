"""Output of the command `hugepages`, as text and as JSON data."""

from dataclasses import dataclass, replace
from typing import Any

from rich.text import Text

from ase_exporter.host.sizing import BASE_PAGE, PAGE_SIZES, Requirement, page_table_bytes
from ase_exporter.host.verdict import Check, HostState, assess, relevant
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class PageTables:
    """Page tables for `touched` bytes in each of `processes` processes; page_size: huge page size in bytes."""

    touched: int
    processes: int
    page_size: int

    @property
    def small(self) -> int:
        """Page table bytes with 4 KiB pages."""
        return page_table_bytes(self.touched, BASE_PAGE) * self.processes

    @property
    def huge(self) -> int:
        """Page table bytes with huge pages."""
        return page_table_bytes(self.touched, self.page_size) * self.processes


def as_data(need: Requirement, host: HostState, tables: PageTables) -> dict[str, Any]:
    """Return the report as JSON data; sizes in bytes unless the key says otherwise."""
    pool = host.pool(need.page_size)
    return {
        "memory_bytes": need.memory,
        "memory_source": need.source,
        "page_size_bytes": need.page_size,
        "pages": need.pages,
        "memory_pages": need.memory_pages,
        "headroom_pages": need.headroom_pages,
        "pages_of_1gib": replace(need, page_size=PAGE_SIZES["1GiB"]).pages,
        "memlock_kib": need.memlock_kib,
        "settings": need.settings(),
        "page_tables": {
            "touched_bytes": tables.touched,
            "processes": tables.processes,
            "small_pages_bytes": tables.small,
            "huge_pages_bytes": tables.huge,
            "saved_bytes": tables.small - tables.huge,
            "host_now_bytes": host.page_tables,
        },
        "host": {
            "pages": pool.total,
            "free": pool.free,
            "reserved": pool.reserved,
            "surplus": pool.surplus,
            "thp": host.thp,
            "servers": [{"database": s.key.database, "server": s.key.server} for s in host.servers],
        },
        "verdict": [
            {"state": f.state, "holds": f.holds, "pages": f.pages, "text": f.text} for f in assess(need, host)
        ],
    }


def print_hugepages(need: Requirement, host: HostState, tables: PageTables) -> None:
    """Print the report as text."""
    console = PlainConsole()
    large = replace(need, page_size=PAGE_SIZES["1GiB"])
    rows = [("memory", f"{need.memory / 1024**3:,.1f} GiB", f"from {need.source}")]
    for name, each in (("pages", need), ("or pages", large))[: 1 + (need.page_size != large.page_size)]:
        parts = f"({each.memory_pages:,} + {each.headroom_pages:,} headroom)"
        rows.append((name, f"{each.pages:,} of {each.size}", parts))
    limit = f"({need.pages:,} x {need.page_size // 1024:,} KiB)"
    rows.append(("memlock", f"{need.memlock_kib:,} KiB", limit))
    console.print(Text("Huge pages", "bold"), WordTable(("", "", ""), rows), sep="\n")
    console.print("\nTo set", style="bold")
    for where, lines in need.settings().items():
        console.print(TextLine(f"  {where}", "dim"))
        for line in lines.splitlines():
            console.print(TextLine(f"    {line}", whole=True))
    _print_page_tables(console, need, host, tables)
    console.print("\nThis host", style="bold")
    for check in assess(need, host):
        console.print(TextLine(Text.assemble("  ", _mark(check, host), f" {check.text}")))
    if not relevant(need, host):
        unknown = "  ? no such database is running here: its huge-page use and memlock are unknown"
        console.print(TextLine(unknown, "dim"))


def _print_page_tables(console: PlainConsole, need: Requirement, host: HostState, tables: PageTables) -> None:
    console.print("\nPage tables", style="bold")
    processes = f" in each of {tables.processes} processes" if tables.processes > 1 else ""
    console.print(
        TextLine(
            f"  {tables.small / _MIB:,.1f} MiB with 4 KiB pages, {tables.huge / _MIB:,.1f} MiB with {need.size} pages, "
            f"{(tables.small - tables.huge) / _MIB:,.1f} MiB saved, "
            f"with {tables.touched / 1024**3:,.1f} GiB touched{processes}"
        )
    )
    for line in (
        "  (8 bytes per 4 KiB page: 1/512 of the touched memory, in every process that maps it.",
        "  Case study: 611 - 16.9 = 594 MB saved on 2 TB, with 297 GiB touched: --touched-gib 297)",
    ):
        console.print(TextLine(line, "dim"))
    if host.page_tables is not None:
        console.print(TextLine(f"  {host.page_tables / _MIB:,.1f} MiB on this host now (all processes)"))


def _mark(check: Check, host: HostState) -> Text:
    if check.state == "thp_on" and host.thp == "madvise":
        return Text("~", "yellow")
    good = check.holds == (check.state == "enough")
    return Text("+", "green") if good else Text("!", "red")
