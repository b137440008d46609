"""What commands and pages show: sections of lines, lists, tables, figures and charts.

Whoever knows something makes a view of it once; `terminal` and `page` show it.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ase_exporter.views.chart import TimeChart

Style = Literal["", "better", "worse", "changed", "soft", "strong", "notes", "method"]
# How bad what a view is about is, as `diagnosis.Level`; plain: it is not judged.
Level = Literal["bad", "warn", "good", "none", "plain"]


class Foreign(str):
    """Text of others: a name, or what they have written. JSON for assistants says where it is."""

    __slots__ = ()


class Quoting(Foreign):
    """A sentence or a statement of ours in which names of others are."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """A small drawing in a cell; places are shares of its width and height, 0-1.

    spans: left edge and width. dot: a place on it.
    """

    spans: Sequence[tuple[float, float]] = ()
    dot: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table shows in one place, where that is more than a text."""

    text: str
    style: Style = ""
    plot: Plot | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """figures: aligned right. whole: its texts are never broken."""

    title: str
    figures: bool = False
    whole: bool = False


def columns(*titles: str, figures: Container[str] = (), whole: Container[str] = ()) -> list[Heading]:
    """The columns with these titles. figures, whole: those with figures, and those whose texts are never broken."""
    return [Heading(title, figures=title in figures, whole=title in whole) for title in titles]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, one for each column. empty: what is said in place of no rows. styles: of the rows."""

    columns: Sequence[Heading]
    rows: Sequence[Sequence[str | Cell]]
    empty: str = "None."
    styles: Sequence[Style] = ()
    kind: ClassVar[str] = "table"

    def visible(self, *, plots: bool) -> list[int]:
        """The columns without those in which nothing is. plots: drawings are something."""
        return [
            at
            for at in range(len(self.columns))
            if at == 0 or any(_is_seen(row[at], plots) for row in self.rows)
        ]


def _is_seen(cell: str | Cell, plots: bool) -> bool:
    return bool(cell if isinstance(cell, str) else cell.text or (plots and cell.plot))


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence."""

    text: str
    style: Style = ""
    kind: ClassVar[str] = "line"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What matters most, in one sentence."""

    text: str
    level: Level = "plain"
    kind: ClassVar[str] = "verdict"


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences; nothing, if there are none."""

    items: Sequence[str]
    style: Style = ""
    kind: ClassVar[str] = "items"


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be copied, which nothing breaks."""

    lines: Sequence[str]
    kind: ClassVar[str] = "code"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over time, which only pages have. numbered: its marks have numbers."""

    chart: TimeChart
    title: str
    caption: str = ""
    numbered: bool = False
    kind: ClassVar[str] = "chart"


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a title. folded: a page shows them on demand, a terminal not at all."""

    title: str
    parts: "Sequence[Part]"
    folded: bool = False
    kind: ClassVar[str] = "section"


Part = Table | Line | Verdict | Items | Code | Chart | Section


@dataclass(frozen=True, slots=True)
class View:
    """A whole answer. title: of a page."""

    title: str
    parts: Sequence[Part]
