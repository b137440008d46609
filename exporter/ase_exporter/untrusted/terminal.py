"""Terminals: text as it is, in lines and tables in which no name and no number is broken."""

import os
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

Align = Literal["left", "right"]
GAP = "  "
# Indentation, and the mark of a list.
_START = re.compile(r" *(?:[-!+?~] +)?")
# Columns of a pipe or a file.
UNBROKEN = 100_000
# Lines that the name of a row may take in a table.
_NAME_LINES = 3
# The blank between a number and its unit, at which no line ends. The stand-in is of one place, and no blank to rich.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|/s|[mu]?s|pp|points|[kKMGT]i?B)(?!\w))")
_KEPT_BLANK = "\ue000"


class PlainConsole(Console):
    """A console that prints text as it is: without markup, emoji, and colours for what looks like a number.

    Lines are broken at the width of the terminal, or COLUMNS; on their way to a pipe or a file they are not.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        if not (self.is_terminal or "width" in options or os.environ.get("COLUMNS", "").isdigit()):
            self.width = UNBROKEN

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; nothing is cut off, however long a name or a statement is."""
        super().print(*objects, **({"crop": False} | options))


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line that is broken between words, with its indentation.

    whole: a statement or a path that is to be copied, which is never broken.
    """

    text: str | Text
    style: str = ""
    whole: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        text = Text(self.text, self.style) if isinstance(self.text, str) else self.text
        if self.whole:
            yield Text.assemble(text, no_wrap=True, overflow="ignore")
            return
        start = _START.match(text.plain)
        indent = start.end() if start else 0
        before, rest = text[:indent], text[indent:]
        rest.plain = _BEFORE_UNIT.sub(_KEPT_BLANK, rest.plain)
        for part in rest.wrap(console, max(1, options.max_width - indent)):
            part.rstrip()
            part.plain = part.plain.replace(_KEPT_BLANK, " ")
            yield before.append_text(part)
            before = Text(" " * indent)


@dataclass(frozen=True, slots=True)
class WordTable:
    """A table whose cells are broken between words only. Columns that do not fit become lines below their row.

    A column does not fit either if the name of a row, its first cell, would take many lines.

    right: columns of figures, by number: aligned right, and never broken. styles: of rows.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Container[int] = ()
    styles: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | TextLine]:
        styles = self.styles or [""] * len(self.rows)
        room = options.max_width
        fitting = (self._widths(room, columns) for columns in range(len(self.titles), 1, -1))
        if (widths := next(filter(None, fitting), None)) is None:
            yield from self._lines(room, styles)
            return
        lines: list[tuple[Sequence[str], str]] = [(self.titles, "bold")] if any(self.titles) else []
        for cells, style in [*lines, *zip(self.rows, styles, strict=True)]:
            columns = [Text(cell).wrap(console, width) for cell, width in zip(cells, widths, strict=False)]
            for parts in zip_longest(*columns, fillvalue=Text()):
                line = GAP.join(
                    aligned(part.plain.rstrip(), width, "right" if at in self.right else "left")
                    for at, (part, width) in enumerate(zip(parts, widths, strict=True))
                )
                yield Text(line.rstrip(), style)
            if cells is not self.titles:
                yield from self._figures(cells, len(widths), room)

    def _lines(self, room: int, styles: Sequence[str]) -> Iterator[TextLine]:
        """The rows without columns. A name that several rows in order have is shown once."""
        yield TextLine(self.titles[0], "bold")
        shown = None
        for cells, style in zip(self.rows, styles, strict=True):
            if cells[0] != shown:
                yield TextLine(cells[0], style)
            shown = cells[0]
            yield from self._figures(cells, 1, room)

    def _figures(self, cells: Sequence[str], first: int, room: int) -> Iterator[TextLine]:
        """Lines of the cells from that column on, each with its title."""
        named = zip(self.titles[first:], cells[first:], strict=True)
        figures = [f"{title} {cell}".strip() for title, cell in named if cell]
        yield from (TextLine(GAP + line) for line in _filled(figures, room - len(GAP)))

    def _widths(self, room: int, shown: int) -> list[int] | None:
        """The widths of the first columns; None if they do not fit. Columns that lack little get what is left first.

        Cells are broken only where that makes room for all columns.
        """
        columns = list(zip(self.titles, *self.rows, strict=True))[:shown]
        full = [max(map(cell_len, column)) for column in columns]
        widths = [
            width
            if at in self.right or shown < len(self.titles)
            else max(cell_len(word) for cell in column for word in cell.split() or [""])
            for at, (column, width) in enumerate(zip(columns, full, strict=True))
        ]
        spare = room - len(GAP) * (len(columns) - 1) - sum(widths)
        if spare < 0:
            return None
        for at in sorted(range(len(columns)), key=lambda at: full[at] - widths[at]):
            more = min(spare, full[at] - widths[at])
            widths[at] += more
            spare -= more
        return None if full[0] > _NAME_LINES * widths[0] else widths


def _filled(parts: Sequence[str], room: int) -> Iterator[str]:
    """Lines of as many parts as there is room for, with commas: a line ends within a part only if it is too long."""
    line = ""
    for at, part in enumerate(parts, 1):
        ended = part if at == len(parts) else f"{part},"
        if line and cell_len(f"{line} {ended}") > room:
            yield line
            line = ""
        line = f"{line} {ended}".lstrip()
    if line:
        yield line


def aligned(cell: str, width: int, align: Align) -> str:
    """The cell, filled up to a width on the terminal: some characters take two places."""
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if align == "right" else cell + blanks
