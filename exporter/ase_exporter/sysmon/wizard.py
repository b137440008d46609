"""The cache wizard: named blocks of `key : value` pairs and true result sets, as isql prints them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.sysmon import columns
from ase_exporter.sysmon.lines import TITLE, Line
from ase_exporter.sysmon.structure import Cell, Remark, Row, Section

SECTION = "Cache Wizard"
_ADVICE = "TUNING RECOMMENDATIONS"
_BLOCKS = ("Buffer Pool Information", "Object Statistics", _ADVICE, "LEGEND")
_PAIR = re.compile(
    r"(?P<key>[A-Za-z][A-Za-z/ %-]{0,40}?) *: *(?P<value>-?\d{1,20}(?:\.\d+)?)(?: (?P<unit>[KMG]b))?"
)
_FIGURE = re.compile(r"(?P<value>-?\d{1,20}(?:\.\d+)?) ?(?P<unit>[KMG]b)?%?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Table:
    """A result set: the titles of its columns and where each column starts and ends."""

    titles: tuple[str, ...]
    spans: tuple[tuple[int, int | None], ...]


def starts(line: Line, below: Line) -> bool:
    """The wizard's own title, centred between two rules of equals signs."""
    return line.text.strip() == SECTION and below.text.strip().startswith("=====")


def read(lines: Sequence[Line], position: int) -> tuple[Section, int]:
    """The section that starts at this title, and the position after it."""
    reader = _WizardReader(lines[position].number)
    position += 2
    while position < len(lines):
        line = lines[position]
        if line.text.startswith("=====") or line.text.endswith(TITLE):
            break
        below = lines[position + 1].text if position + 1 < len(lines) else ""
        reader.take(line, lines[position - 1].text, below)
        position += 1
    return reader.section, position


class _WizardReader:
    """Reads the wizard's lines one by one."""

    def __init__(self, number: int) -> None:
        self.section = Section(SECTION, number)
        self._cache = ""
        self._block = ""
        self._table: _Table | None = None

    def take(self, line: Line, above: str, below: str) -> None:
        """Read one line; above, below: its neighbours."""
        text = line.text.strip()
        underline = columns.spans(below) if columns.is_rule(below) else []
        if line.blank or text.startswith("("):
            self._table = None
        elif columns.is_rule(text):
            return
        elif text in _BLOCKS:
            self._block, self._table = text, None
        elif len(underline) == 1 and columns.is_rule(above):
            self._cache, self._block, self._table = text, "", None
        elif underline:
            self._table = _table(line.text, [start for start, _ in underline])
        elif self._table:
            self._take_row(line, self._table)
        elif pairs := list(_PAIR.finditer(line.text)):
            cells = [
                _cell(pair["key"], pair["unit"], pair["value"], line.offset + pair.start("value"))
                for pair in pairs
            ]
            self._add("Summary", line, cells)
        else:
            kept = self.section.recommendations if self._block == _ADVICE else self.section.remarks
            kept.append(Remark(line.number, text))

    def _take_row(self, line: Line, table: _Table) -> None:
        """One row of a result set: figures become cells, its first column is its label."""
        label = line.text[slice(*table.spans[0])].strip()
        cells: list[Cell] = []
        for title, (start, end) in zip(table.titles, table.spans, strict=True):
            piece = line.text[start:end]
            figure = _FIGURE.fullmatch(piece.strip())
            if figure:
                column = line.offset + start + len(piece) - len(piece.lstrip())
                cells.append(_cell(title, figure["unit"], figure["value"], column))
        self._add(label, line, cells)

    def _add(self, label: str, line: Line, cells: list[Cell]) -> None:
        path = tuple(part for part in (self._cache, self._block) if part)
        self.section.rows.append(Row(path, label, line.number, tuple(cells)))


def _table(titles: str, starts_at: list[int]) -> _Table:
    ends_at = [*starts_at[1:], None]
    spans = tuple(zip(starts_at, ends_at, strict=True))
    return _Table(tuple(titles[start:end].strip() for start, end in spans), spans)


def _cell(title: str, unit: str | None, value: str, column: int) -> Cell:
    """A figure; a unit printed beside it becomes the end of its measure's name."""
    spelled = f"{title.replace('%', ' percent').replace('/sec', ' per sec')} {unit or ''}"
    measure = re.sub(r"[^a-z0-9]+", "_", spelled.lower()).strip("_") or "value"
    return Cell(measure, float(value), value, column)
