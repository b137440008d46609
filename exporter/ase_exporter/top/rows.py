"""The widget that shows a table."""

import contextlib
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
from ase_exporter.readings.samples import WINDOW
from ase_exporter.top.view import ScreenRow, ScreenTable
from ase_exporter.untrusted.terminal import GAP

NOTES = f"""
Rates are of the last {WINDOW:.0f} seconds, as the server counts CPU time in whole seconds. CPU of a spinlock:
share of all engine time that spins on it (an estimate: a spin takes {threshold(SECONDS_PER_SPIN) * 1e9:.3g} ns).
Contention: waits / grabs.
"""


def _listed(binding: BindingType) -> BindingType:
    """A binding of textual's table: the keys that move a cursor are not listed as keys of top."""
    assert isinstance(binding, Binding)
    if binding.action == "select_cursor":
        return replace(binding, description="Details", show=True, key_display=binding.key)
    return replace(binding, system=True)


class Rows(DataTable[Text], inherit_bindings=False):
    """A table of rows."""

    HELP = NOTES
    BINDINGS: ClassVar[list[BindingType]] = [_listed(each) for each in DataTable.BINDINGS]

    def __init__(self) -> None:
        super().__init__(id="table", cursor_type="row", cell_padding=0)

    def fill(self, table: ScreenTable, most: int, *, to_top: bool = False) -> None:
        """Show the first rows. The cursor stays on its row once the user has moved it, unless it goes `to_top`."""
        cursor, offset = self._cursor_key(), self.scroll_offset
        self.clear(columns=True)
        rows, blank = list(table.rows[:most]), [""] * (len(table.titles) - 1)
        if not table.rows or len(table.rows) > most:
            note = f"+{len(table.rows) - most}" if table.rows else table.empty
            rows.append(ScreenRow("", (note, *blank), (), "dim"))
        gaps = ["", *[GAP] * len(blank)]
        columns = zip(table.titles, gaps, *(row.cells for row in rows), strict=True)
        for (name, align), gap, *cells in columns:
            width = max(map(cell_len, (name, *cells))) + len(gap)
            self.add_column(Text(gap + name, justify=align), width=width)
        for row in rows:
            shown = zip(row.cells, table.titles, gaps, strict=True)
            self.add_row(
                *(Text(gap + cell, row.style, justify=align) for cell, (_, align), gap in shown), key=row.key
            )
        if not to_top:
            with contextlib.suppress(ValueError):
                self.move_cursor(row=[row.key for row in rows].index(cursor), scroll=False)
            self.scroll_to(x=offset.x, y=offset.y, animate=False)

    def _cursor_key(self) -> str:
        if not 0 < self.cursor_row < self.row_count:
            return ""
        return str(self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value)
