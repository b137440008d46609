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
        before = text[:indent]
        for part in text[indent:].wrap(console, max(1, options.max_width - indent)):
            part.rstrip()
            yield before.append_text(part)
            before = Text(" " * indent)


@dataclass(frozen=True, slots=True)
class WordTable:
    """A table whose cells are broken between words only. Where it does not fit, each row becomes a few lines.

    right: columns of figures, by number: aligned right, and never broken. wide: widths that columns get where there
    is room, so that several tables look alike. styles: of rows.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Container[int] = ()
    wide: Sequence[int] = ()
    styles: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | TextLine]:
        styles = self.styles or [""] * len(self.rows)
        widths = self._widths(options.max_width)
        if widths is None:
            yield TextLine(self.titles[0], "bold")
            for (name, *figures), style in zip(self.rows, styles, strict=True):
                named = zip(self.titles[1:], figures, strict=True)
                yield TextLine(name, style)
                yield TextLine(GAP + ", ".join(f"{title} {cell}".strip() for title, cell in named if cell))
            return
        lines: list[tuple[Sequence[str], str]] = [(self.titles, "bold")] if any(self.titles) else []
        for cells, style in [*lines, *zip(self.rows, styles, strict=True)]:
            columns = [Text(cell).wrap(console, width) for cell, width in zip(cells, widths, strict=True)]
            for parts in zip_longest(*columns, fillvalue=Text()):
                line = GAP.join(
                    aligned(part.plain.rstrip(), width, "right" if at in self.right else "left")
                    for at, (part, width) in enumerate(zip(parts, widths, strict=True))
                )
                yield Text(line.rstrip(), style)

    def _widths(self, room: int) -> list[int] | None:
        """The width of each column; None if they do not fit. Columns that lack little get what is left first."""
        columns = list(zip(self.titles, *self.rows, strict=True))
        full = [max(map(cell_len, column)) for column in columns]
        widths = [
            width
            if at in self.right
            else max(cell_len(word) for cell in column for word in cell.split() or [""])
            for at, (column, width) in enumerate(zip(columns, full, strict=True))
        ]
        spare = room - len(GAP) * (len(columns) - 1) - sum(widths)
        if spare < 0:
            return None
        wanted = list(map(max, full, self.wide or full))
        for at in sorted(range(len(columns)), key=lambda at: wanted[at] - widths[at]):
            more = min(spare, wanted[at] - widths[at])
            widths[at] += more
            spare -= more
        return widths


def aligned(cell: str, width: int, align: Align) -> str:
    """The cell, filled up to a width on the terminal: some characters take two places."""
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if align == "right" else cell + blanks
