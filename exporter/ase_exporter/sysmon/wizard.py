"""The cache wizard: for each cache `key : value` pairs and true result sets, as isql prints them."""

import re
from collections.abc import Sequence

from ase_exporter.sysmon.grammar import grammar, key
from ase_exporter.sysmon.lines import Line, is_title
from ase_exporter.sysmon.noise import is_chatter
from ase_exporter.sysmon.recognition import numbers_in
from ase_exporter.sysmon.structure import Cell, Remark, Report, Row, Section

SECTION = "Cache Wizard"
_ADVICE = "TUNING RECOMMENDATIONS"
# Its last part.
_LEGEND = "LEGEND"
_BLOCKS = {key(name): name for name in ("Buffer Pool Information", "Object Statistics", _ADVICE, _LEGEND)}
_TABLES = (
    ("IO Size", "Wash Size", "Run Size", "APF%", "LR/sec", "PR/sec", "Hit%", "APF-Eff%", "Usage%"),
    ("Object", "LR/sec", "PR/sec", "Hit%", "Obj_Cached%", "Cache_Occp%"),
    ("Object", "Obj Size", "Size in Cache"),
)
_TITLES = {key("".join(titles)): titles for titles in _TABLES}
_VALUE = r"(?:n/a|NULL|-?\d{1,20}(?:\.\d{1,10})?(?: ?[KMG]b)?)"
_FIGURE = re.compile(r"(?P<value>-?\d{1,20}(?:\.\d{1,10})?)(?: ?(?P<unit>[KMG]b))?|n/a|NULL", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<key>[A-Za-z][A-Za-z/ %-]{0,40}?) *: *(?P<value>-?\d{1,20}(?:\.\d+)?)(?: (?P<unit>[KMG]b))?"
)
_FIRST_PAIR = re.compile(r"Run Size *:", re.IGNORECASE)


def starts(line: Line) -> bool:
    """The wizard's own title."""
    return key(line.text) == key(SECTION)


def read(lines: Sequence[Line], position: int, report: Report) -> int:
    """Add the section that starts at this title to a report; the position after it."""
    reader = _WizardReader(report, Section(SECTION, lines[position].number))
    texts = [line for line in lines[position + 1 :] if any(map(str.isalnum, line.text))]
    end = len(lines)
    for line, below in zip(texts, [*texts, Line(0, "")][1:], strict=True):
        if is_title(line.text) or starts(line) or grammar().meaning(line.text).section:
            end = next(at for at in range(position + 1, len(lines)) if lines[at] is line)
            break
        reader.take(line, below)
    if not reader.ended:
        report.missing.append(f"the {_LEGEND} of the {SECTION}")
    return end


class _WizardReader:
    """Reads the wizard's lines one by one."""

    def __init__(self, report: Report, section: Section) -> None:
        report.sections.append(section)
        self._report = report
        self._section = section
        self._cache = ""
        self._block = ""
        self._titles: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the wizard's last part was reached."""
        return self._block == _LEGEND

    def take(self, line: Line, below: Line) -> None:
        """Read one line; below: the next one with text."""
        text = line.text.strip()
        name = key(text)
        if _FIRST_PAIR.match(below.text.strip()):
            self._cache, self._block, self._titles = text, "", ()
            self._report.discarded += numbers_in(text)
        elif name in _BLOCKS:
            self._block, self._titles = _BLOCKS[name], ()
        elif name in _TITLES:
            self._titles = _TITLES[name]
        elif self._titles and not is_chatter(line):
            self._take_row(line, text)
        elif pairs := list(_PAIR.finditer(line.text)) if not self._block else []:
            self._add(
                "Summary",
                line,
                [
                    _cell(pair["key"], pair["unit"], pair["value"], line, pair.start("value"))
                    for pair in pairs
                ],
            )
        else:
            self._report.discarded += numbers_in(text)
            kept = self._section.recommendations if self._block == _ADVICE else self._section.remarks
            if not is_chatter(line):
                kept.append(Remark(line.number, text))

    def _take_row(self, line: Line, text: str) -> None:
        """One row of a result set: its last words are its figures, all before them is its label."""
        labelled = self._titles[0] == "Object"
        titles = self._titles[labelled:]
        match = re.fullmatch(
            rf"(?P<label>.*?)\s*(?P<values>(?:{_VALUE}\s+){{{len(titles) - 1}}}{_VALUE})", text, re.IGNORECASE
        )
        if match is None or bool(match["label"]) != labelled:
            self._report.lost += numbers_in(text)
            self._report.unplaced.append(Remark(line.number, f"no known row: {line.words}"))
            return
        start = line.text.find(text) + match.start("values")
        figures = list(_FIGURE.finditer(match["values"]))
        cells = [
            _cell(title, figure["unit"], figure["value"], line, start + figure.start())
            for title, figure in zip(titles, figures, strict=True)
            if figure["value"]
        ]
        self._report.discarded += numbers_in(match["label"])
        self._add(match["label"] or figures[0][0], line, cells)

    def _add(self, label: str, line: Line, cells: list[Cell]) -> None:
        path = tuple(part for part in (self._cache, self._block) if part)
        self._section.rows.append(Row(path, label, line.number, tuple(cells)))


def _cell(title: str, unit: str | None, value: str, line: Line, start: int) -> Cell:
    """A figure; a unit printed beside it becomes the end of its measure's name."""
    spelled = f"{title.replace('%', ' percent').replace('/sec', ' per sec')} {unit or ''}"
    measure = re.sub(r"[^a-z0-9]+", "_", spelled.lower()).strip("_") or "value"
    return Cell(measure, float(value), value, line.offset + start)
