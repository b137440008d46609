"""What the command `hugepages` found: pages required, what to set, page tables, and the state of this host."""

from collections.abc import Iterator

from ase_exporter.host.settings import what_to_set
from ase_exporter.host.sizing import Requirement
from ase_exporter.host.verdict import HostState, assess, relevant
from ase_exporter.views.view import Code, Heading, Line, Part, Section, Style, Table, View

_MIB, _GIB = 1024**2, 1024**3
_STYLES: dict[str, Style] = {"+": "better", "~": "changed", "!": "worse"}


def hugepages_view(need: Requirement, host: HostState, touched: int) -> View:
    """The whole report. touched: bytes that ASE touched, for the page tables."""
    parts = f"({need.memory_pages:,} + {need.headroom_pages:,} headroom)"
    limit = f"({need.pages:,} x {need.page_size // 1024:,} KiB)"
    rows = [
        ("memory", f"{need.memory / _GIB:,.1f} GiB", f"from {need.source}"),
        ("pages", f"{need.pages:,} of {need.size}", parts),
        ("memlock", f"{need.memlock_kib:,} KiB", limit),
    ]
    state = [Line(f"  {check.mark} {check.text}", _STYLES[check.mark]) for check in assess(need, host)]
    if not relevant(need, host):
        unknown = "  ? no such server is running here: its huge-page use and memlock are unknown"
        state.append(Line(unknown, "soft"))
    return View(
        "Huge pages",
        [
            Section("Huge pages", [Table([Heading("")] * 3, rows)]),
            Section("To set", [*_settings(need, host)]),
            Section("Page tables", [*_page_tables(need, host, touched)]),
            Section("This host", state),
        ],
    )


def _settings(need: Requirement, host: HostState) -> Iterator[Part]:
    for setting in what_to_set(need, host):
        note = setting.note if setting.lines else f"left out: {setting.note}"
        yield Line(f"  {setting.where}" + (f" ({note})" if note else ""), "soft")
        if setting.lines:
            yield Code([f"    {line}" for line in setting.lines])


def _page_tables(need: Requirement, host: HostState, touched: int) -> Iterator[Line]:
    base = host.architecture.base_page
    small, huge = (host.architecture.page_tables(touched, size) / _MIB for size in (base, need.page_size))
    yield Line(
        f"  {small:,.1f} MiB with {base // 1024} KiB pages, {huge:,.1f} MiB with {need.size} pages, "
        f"{small - huge:,.1f} MiB saved, with {touched / _GIB:,.1f} GiB touched"
    )
    yield Line(
        f"  ({host.architecture.name}: page tables of the touched memory, in every process that maps it.",
        "soft",
    )
    case = "  Case study: 611 - 16.9 = 594 MB saved on 2 TB, with 297 GiB touched: --touched-gib 297)"
    yield Line(case, "soft")
    if host.page_tables is not None:
        yield Line(f"  {host.page_tables / _MIB:,.1f} MiB on this host now (all processes)")
