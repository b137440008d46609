"""Output of the command `hugepages`, as text and as JSON data."""

from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from ase_exporter.host.sizing import BASE_PAGE, PAGE_SIZES, Requirement, page_table_bytes
from ase_exporter.host.verdict import Check, HostState, assess, relevant
from ase_exporter.untrusted.terminal import PlainConsole

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
    table = Table(title="Huge pages", title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("memory", f"{need.memory / 1024**3:,.1f} GiB", f"from {need.source}")
    table.add_row(
        "pages",
        Text.assemble((f"{need.pages:,}", "bold"), f" of {need.size}"),
        f"({need.memory_pages:,} + {need.headroom_pages:,} headroom)",
    )
    if need.page_size != PAGE_SIZES["1GiB"]:
        large = replace(need, page_size=PAGE_SIZES["1GiB"])
        parts = f"({large.memory_pages:,} + {large.headroom_pages:,} headroom)"
        table.add_row("", f"or {large.pages:,} of {large.size}", parts)
    table.add_row(
        "memlock", f"{need.memlock_kib:,} KiB", f"({need.pages:,} x {need.page_size // 1024:,} KiB)"
    )
    console.print(table)
    console.print("\nTo set", style="bold")
    for where, lines in need.settings().items():
        console.print(f"  {where}", style="dim")
        for line in lines.splitlines():
            console.print(f"    {line}", soft_wrap=True)
    _print_page_tables(console, need, host, tables)
    console.print("\nThis host", style="bold")
    for check in assess(need, host):
        console.print("  ", _mark(check, host), f" {check.text}", sep="", soft_wrap=True)
    if not relevant(need, host):
        console.print(
            "  ? no such database is running here: its huge-page use and memlock are unknown", style="dim"
        )


def _print_page_tables(console: PlainConsole, need: Requirement, host: HostState, tables: PageTables) -> None:
    console.print("\nPage tables", style="bold")
    processes = f" in each of {tables.processes} processes" if tables.processes > 1 else ""
    console.print(
        f"  {tables.small / _MIB:,.1f} MiB with 4 KiB pages, {tables.huge / _MIB:,.1f} MiB with {need.size} pages, "
        f"{(tables.small - tables.huge) / _MIB:,.1f} MiB saved, "
        f"with {tables.touched / 1024**3:,.1f} GiB touched{processes}",
        soft_wrap=True,
    )
    console.print(
        "  (8 bytes per 4 KiB page: 1/512 of the touched memory, in every process that maps it.\n"
        "  Case study: 611 - 16.9 = 594 MB saved on 2 TB, with 297 GiB touched: --touched-gib 297)",
        style="dim",
        soft_wrap=True,
    )
    if host.page_tables is not None:
        console.print(f"  {host.page_tables / _MIB:,.1f} MiB on this host now (all processes)")


def _mark(check: Check, host: HostState) -> Text:
    if check.state == "thp_on" and host.thp == "madvise":
        return Text("~", "yellow")
    good = check.holds == (check.state == "enough")
    return Text("+", "green") if good else Text("!", "red")
