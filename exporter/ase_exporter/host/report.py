"""Output of the command `hugepages`, as text and as JSON data."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.text import Text

from ase_exporter.host.sizing import BASE_PAGE, PAGE_SIZES, Requirement, page_table_bytes
from ase_exporter.host.verdict import Check, HostState, assess, relevant
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

_MIB = 1024**2


def page_tables(touched: int, page_size: int) -> dict[str, int]:
    """Page tables of a process that touched so many bytes; page_size: of huge pages, in bytes."""
    small, huge = (page_table_bytes(touched, size) for size in (BASE_PAGE, page_size))
    return {
        "touched_bytes": touched,
        "small_pages_bytes": small,
        "huge_pages_bytes": huge,
        "saved_bytes": small - huge,
    }


def as_data(need: Requirement, host: HostState, tables: dict[str, int]) -> dict[str, Any]:
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
        "page_tables": {**tables, "host_now_bytes": host.page_tables},
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


def print_hugepages(need: Requirement, host: HostState, tables: dict[str, int]) -> None:
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
    console.print(Text("\nPage tables", "bold"), *_page_table_lines(need, host, tables), sep="\n")
    console.print("\nThis host", style="bold")
    for check in assess(need, host):
        console.print(TextLine(Text.assemble("  ", _mark(check, host), f" {check.text}")))
    if not relevant(need, host):
        unknown = "  ? no such database is running here: its huge-page use and memlock are unknown"
        console.print(TextLine(unknown, "dim"))


def _page_table_lines(need: Requirement, host: HostState, tables: dict[str, int]) -> Iterator[TextLine]:
    small, huge, saved = (tables[f"{what}_bytes"] / _MIB for what in ("small_pages", "huge_pages", "saved"))
    yield TextLine(
        f"  {small:,.1f} MiB with 4 KiB pages, {huge:,.1f} MiB with {need.size} pages, "
        f"{saved:,.1f} MiB saved, with {tables['touched_bytes'] / 1024**3:,.1f} GiB touched"
    )
    yield TextLine(
        "  (8 bytes per 4 KiB page: 1/512 of the touched memory, in every process that maps it.", "dim"
    )
    case = "  Case study: 611 - 16.9 = 594 MB saved on 2 TB, with 297 GiB touched: --touched-gib 297)"
    yield TextLine(case, "dim")
    if host.page_tables is not None:
        yield TextLine(f"  {host.page_tables / _MIB:,.1f} MiB on this host now (all processes)")


def _mark(check: Check, host: HostState) -> Text:
    if check.state == "thp_on" and host.thp == "madvise":
        return Text("~", "yellow")
    good = check.holds == (check.state == "enough")
    return Text("+", "green") if good else Text("!", "red")
