"""Views on a terminal, in any width; into a pipe or a file lines are whole."""

from collections.abc import Iterable, Iterator, Mapping
from io import StringIO

from rich.console import Group, RenderableType

from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable
from ase_exporter.views.view import Cell, Code, Items, Line, Part, Section, Style, Table, Verdict, View

FILE_WIDTH = 80
_STYLES: Mapping[Style, str] = {
    "better": "green",
    "worse": "red",
    "changed": "yellow",
    "soft": "dim",
    "strong": "bold",
    "notes": "yellow",
    "method": "dim",
}


def print_view(view: View) -> None:
    """Print it on standard output."""
    PlainConsole().print(printable(view))


def text(view: View) -> str:
    """The same for a file."""
    written = StringIO()
    PlainConsole(file=written, width=FILE_WIDTH).print(printable(view))
    return written.getvalue()


def printable(view: View) -> RenderableType:
    """What to print of a view, without its title: whoever asked for it knows."""
    found = list(_shown(view.parts))
    # Nothing is above a section that is the first.
    return Group(*found[1 if found[:1] == [""] else 0 :])


def _shown(parts: Iterable[Part]) -> Iterator[RenderableType]:
    for part in parts:
        match part:
            case Verdict():
                yield from (TextLine(part.text, "bold"), "")
            case Line():
                yield TextLine(part.text, _STYLES.get(part.style, ""))
            case Items():
                yield from (TextLine(f"  - {each}", _STYLES.get(part.style, "")) for each in part.items)
            case Code():
                yield from (TextLine(each, "green", whole=True) for each in part.lines)
            case Table():
                yield _table(part)
            case Section() if part.folded:
                yield from ("", TextLine(f"{part.title}: see --all", "dim"))
            case Section():
                yield ""
                yield from [TextLine(part.title, "bold")] if part.title else []
                yield from _shown(part.parts)


def _table(table: Table) -> RenderableType:
    if not table.rows:
        return TextLine(table.empty)
    at = table.visible(plots=False)
    columns = [table.columns[number] for number in at]
    return WordTable(
        [column.title for column in columns],
        [[_text(row[number]) for number in at] for row in table.rows],
        [place for place, column in enumerate(columns) if column.figures],
        styles=[_STYLES.get(style, "") for style in table.styles],
    )


def _text(cell: str | Cell) -> str:
    text = cell.text if isinstance(cell, Cell) else cell
    return "; ".join(text.splitlines())
