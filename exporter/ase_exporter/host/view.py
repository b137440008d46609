"""What the command `hugepages` found: pages required, and what to set on this host."""

from collections.abc import Iterator

from ase_exporter.host.settings import what_to_set
from ase_exporter.host.sizing import Requirement
from ase_exporter.host.state import HostState
from ase_exporter.views.figures import size
from ase_exporter.views.view import Code, Heading, Line, Part, Section, Table, View


def hugepages_view(need: Requirement, host: HostState) -> View:
    """The whole report."""
    parts = f"({need.memory_pages:,} + {need.headroom_pages:,} headroom)"
    limit = f"({need.pages:,} x {need.page_size // 1024:,} KiB)"
    rows = [
        ("memory", size(need.memory), f"from {need.source}"),
        ("pages", f"{need.pages:,} of {need.size}", parts),
        ("memlock", f"{need.memlock_kib:,} KiB", limit),
    ]
    return View(
        "Huge pages",
        [
            Section("Huge pages", [Table([Heading("")] * 3, rows)]),
            Section("To set", [*_settings(need, host)]),
        ],
    )


def _settings(need: Requirement, host: HostState) -> Iterator[Part]:
    for setting in what_to_set(need, host):
        note = setting.note if setting.lines else f"left out: {setting.note}"
        yield Line(f"  {setting.where}" + (f" ({note})" if note else ""), "soft")
        if setting.lines:
            yield Code([f"    {line}" for line in setting.lines])
