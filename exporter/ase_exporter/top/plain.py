"""A frame for pipes and tickets, as plain text."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from ase_exporter.top.frames import Frame, Scene
from ase_exporter.top.header import baseline, header, title
from ase_exporter.top.text import Glyphs
from ase_exporter.top.view import PARTS, ScreenTable, table
from ase_exporter.untrusted.terminal import TextLine, WordTable

MAX_ROWS = 10
# A line of a file is cut nowhere; the strip of a thousand engines fits.
MAX_WIDTH = 1100


def report(frame: Frame, glyphs: Glyphs) -> Iterator[RenderableType]:
    """What to print of a server."""
    scene = Scene(frame, glyphs, MAX_WIDTH)
    yield TextLine(title(scene) + baseline(scene), "bold")
    lines = header(scene)
    if frame.sample.error:
        yield TextLine(lines[0])
        return
    yield from map(TextLine, lines)
    for name in PARTS:
        yield ""
        yield from _table(table(name, scene))


def _table(table: ScreenTable) -> Iterator[RenderableType]:
    """A table in any width; its name stands above its first column. Columns without any text are left out."""
    if not table.rows:
        yield TextLine(f"{table.title}: {table.empty}")
        return
    rows = table.rows[:MAX_ROWS]
    shown = [at for at in range(len(table.titles)) if at == 0 or any(row.cells[at] for row in rows)]
    titles = [table.titles[at] for at in shown]
    figures = [place for place, (_, align) in enumerate(titles) if align == "right"]
    cells = [[row.cells[at] for at in shown] for row in rows]
    heads = [table.title, *(title for title, _ in titles[1:])]
    yield WordTable(heads, cells, figures, styles=[row.style for row in rows])
    if (more := len(table.rows) - MAX_ROWS) > 0:
        yield Text(f"({more} more)", style="dim")
