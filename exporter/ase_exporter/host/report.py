"""Prints what the command `hugepages` found: pages required, what to set, page tables, and the state of this host."""

import os
from collections.abc import Iterator

from rich.text import Text

from ase_exporter.host.sizing import Requirement, page_table_bytes
from ase_exporter.host.verdict import HostState, assess, relevant
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

_MIB, _GIB = 1024**2, 1024**3
_COLOURS = {"+": "green", "~": "yellow", "!": "red"}


def print_hugepages(need: Requirement, host: HostState, touched: int) -> None:
    """Print the report. touched: bytes that ASE touched, for the page tables."""
    console = PlainConsole()
    parts = f"({need.memory_pages:,} + {need.headroom_pages:,} headroom)"
    limit = f"({need.pages:,} x {need.page_size // 1024:,} KiB)"
    rows = [
        ("memory", f"{need.memory / _GIB:,.1f} GiB", f"from {need.source}"),
        ("pages", f"{need.pages:,} of {need.size}", parts),
        ("memlock", f"{need.memlock_kib:,} KiB", limit),
    ]
    console.print(Text("Huge pages", "bold"), WordTable(("", "", ""), rows), sep="\n")
    console.print("\nTo set", style="bold")
    for where, lines in need.settings(host.default_size).items():
        console.print(TextLine(f"  {where}", "dim"))
        for line in lines.splitlines():
            console.print(TextLine(f"    {line}", whole=True))
    console.print(Text("\nPage tables", "bold"), *_page_tables(need, host, touched), sep="\n")
    console.print("\nThis host", style="bold")
    for check in assess(need, host):
        console.print(TextLine(Text.assemble("  ", (check.mark, _COLOURS[check.mark]), f" {check.text}")))
    if not relevant(need, host):
        unknown = "  ? no such server is running here: its huge-page use and memlock are unknown"
        console.print(TextLine(unknown, "dim"))


def _page_tables(need: Requirement, host: HostState, touched: int) -> Iterator[TextLine]:
    base = os.sysconf("SC_PAGE_SIZE")
    small, huge = (page_table_bytes(touched, size, base) / _MIB for size in (base, need.page_size))
    yield TextLine(
        f"  {small:,.1f} MiB with {base // 1024} KiB pages, {huge:,.1f} MiB with {need.size} pages, "
        f"{small - huge:,.1f} MiB saved, with {touched / _GIB:,.1f} GiB touched"
    )
    yield TextLine(
        f"  (8 bytes per {base // 1024} KiB page of the touched memory, in every process that maps it.", "dim"
    )
    case = "  Case study: 611 - 16.9 = 594 MB saved on 2 TB, with 297 GiB touched: --touched-gib 297)"
    yield TextLine(case, "dim")
    if host.page_tables is not None:
        yield TextLine(f"  {host.page_tables / _MIB:,.1f} MiB on this host now (all processes)")
