"""Restores indentation and columns that a text has lost, by the known lines of each section."""

import itertools
import re
from collections.abc import Sequence
from copy import copy

from ase_exporter.sysmon import columns
from ase_exporter.sysmon.columns import STANDARD, Column, Layout
from ase_exporter.sysmon.grammar import Grammar, KnownLine, grammar, nearest_release
from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.sections import SectionReader
from ase_exporter.sysmon.structure import PERCENT_OF_TOTAL, Section

_ABSENT = ("n/a", "NA", "NULL")
_MIN_KNOWN = 5
_MIN_AGREEMENT = 0.9
_MAX_CONTINUATION_INDENT = 20
_SECTION_RULE, _LABEL_RULE = 27, 20
_TABLE_INDENT, _FIGURES_INDENT = 2, 29
_DEVICE_INDENT = 4
_FULL_RULE = 60
_TOLERANCE = 2
_DURATION = re.compile(r"(?P<label>.{1,60}?\S)\s+(?P<value>\S+)\s+(?P<unit>seconds|ms|milliseconds)\.?")


def is_altered(lines: Sequence[Line]) -> bool:
    """Whether the known lines of a text stand at other indentations, or their figures at other columns."""
    known, section = grammar(), ""
    seen = placed = 0
    for line, below in zip(lines, [*lines[1:], Line(0, "", 0)], strict=True):
        if line.blank or columns.is_rule(line.text):
            continue
        name = section_name(line, below)
        if name:
            section = name
            continue
        if not section:
            continue
        if is_continuation(line):
            return True
        label, tokens = split(known, section, line.text)
        found = known.lines(section, label)
        if found:
            seen += 1
            standing = line.indent in {candidate.indent for candidate in found}
            squeezed = bool(tokens) and "  " not in line.text.strip() and len(line.words) < STANDARD.zone
            placed += standing and not squeezed
    return seen >= _MIN_KNOWN and placed < _MIN_AGREEMENT * seen


def section_name(line: Line, below: Line) -> str:
    """The known section that starts at this line, wherever it stands; '' if none does."""
    if not columns.is_rule(below.text):
        return ""
    words = line.words
    titles = columns.heading(line.text, below.text)
    name = titles.label if titles else words
    return " ".join(name.split()) if " ".join(name.split()) in grammar().sections else ""


def is_continuation(line: Line) -> bool:
    """Figures alone, far left of all columns: the end of a line that was wrapped."""
    words = line.text.split()
    return line.indent < _MAX_CONTINUATION_INDENT and all(columns.is_figure(word) for word in words)


def split(known: Grammar, section: str, text: str, limit: int = 4) -> tuple[str, list[str]]:
    """Label and figures of a line, where the label is one that the section knows; else the whole text."""
    words = text.split()
    tokens: list[str] = []
    label = len(words)
    while label and len(tokens) <= limit and columns.is_figure(words[label - 1]):
        label -= 1
        if words[label] == "%" and label and words[label - 1][-1] in "0123456789*":
            label -= 1
            tokens.insert(0, f"{words[label]} %")
        elif words[label] == "%":
            continue
        else:
            tokens.insert(0, words[label])
    for taken in range(len(tokens) + 1):
        name = " ".join([*words[:label], *" ".join(tokens[:taken]).split()])
        if known.lines(section, name):
            return name, tokens[taken:]
    return " ".join(words), []


class MarginReader(SectionReader):
    """Reads a section of an altered text: each line is moved to its known place first; unknown lines are left out."""

    def __init__(self, section: Section, layout: Layout = STANDARD, version: str = "") -> None:
        """version: the banner of the header."""
        super().__init__(section, layout)
        self._release = nearest_release(version)
        self._known = grammar()
        self._indent = 0

    def take(self, line: Line, below: str) -> None:
        """Read one line; below: the text of the next one."""
        if line.blank:
            super().take(line, below)
            return
        if columns.is_rule(line.text):
            super().take(self._placed_rule(line), below)
            return
        under = self._placed_rule(Line(0, below, 0)).text if columns.is_rule(below) else below
        placed = self._placed(line, below)
        if placed is None:
            self.unread.append(line)
            self._adjacent = None
            return
        self._indent = placed.indent
        if columns.is_rule(below):
            under = self._placed_rule(Line(0, below.strip(), 0)).text
        super().take(placed, under)

    def _placed(self, line: Line, below: str) -> Line | None:
        """The line at its known indentation and columns; None where it is not known."""
        text = line.text.strip()
        if self.in_advice(text) or self.is_sentence(text) or text.startswith("("):
            return line.moved(_TABLE_INDENT)
        duration = _DURATION.fullmatch(text)
        if duration and self._known.lines(self.section.name, duration["label"]):
            text = f"{duration['label']}  {duration['value']} {duration['unit']}"
            return Line(line.number, text, 0, line.offset).moved(_TABLE_INDENT)
        titles = columns.heading(text, below.strip())
        if self._in_device:
            return line.moved(_DEVICE_INDENT)
        label, tokens = (titles.label, []) if titles else split(self._known, self.section.name, text)
        kinds = ("titles",) if titles else ("row",) if tokens or "%" in text.split()[-1:] else ("text", "row")
        found = [known for known in self._known.lines(self.section.name, label) if known.kind in kinds]
        if not found and tokens:
            found = [
                known for known in self._known.lines(self.section.name, "*") if known.path == self._table
            ]
            label = " ".join(text.split()[: len(text.split()) - len(tokens)]) if found else label
        if not found and not titles and self._table == "Bucketpool Name":
            return self._placed_bucket(line)
        if not found:
            return None
        options = [self._aligned(line.moved(indent), label, tokens) for indent in self._indents(found)]
        lines = [option for option in options if option is not None]
        return lines[0] if len(lines) == 1 else self._chosen(lines, found, below)

    def _placed_bucket(self, line: Line) -> Line | None:
        words = line.text.split()
        count = len(self._layout.columns)
        if len(words) <= count or not all(columns.is_figure(word) for word in words[-count:]):
            return None
        return self._aligned(line.moved(_TABLE_INDENT), " ".join(words[:-count]), words[-count:])

    def _indents(self, found: Sequence[KnownLine]) -> list[int]:
        """The indentations of a text, of its release and with what stands right above it where these are known."""
        above = "rule" if self._after_rule else "blank" if self._after_blank else "text"
        of_release = [known for known in found if self._release in known.releases] or found
        here = {known.indent for known in of_release if above in known.after}
        return sorted(here or {known.indent for known in of_release})

    def _chosen(self, lines: Sequence[Line], found: Sequence[KnownLine], below: str) -> Line | None:
        """Of several places the one at which the line becomes a known row."""
        fitting: dict[tuple[str, ...], Line] = {}
        for line in lines:
            trial = copy(self)
            trial.section, trial._stack = Section(self.section.name, 0), list(self._stack)
            trial.warnings = []
            SectionReader.take(trial, line, below)
            if not trial.section.rows:
                return lines[0]
            row = trial.section.rows[0]
            if self._known.measures(self.section.name, row.path, row.label) is not None:
                fitting.setdefault((*row.path, row.label), line)
        return next(iter(fitting.values())) if len(fitting) == 1 else None

    def _aligned(self, line: Line, label: str, tokens: Sequence[str]) -> Line | None:
        """The line with each figure in its column; None where it cannot be told which column that is."""
        table = self._layout.columns
        while len(tokens) > len(table) and tokens[-1] in _ABSENT:
            tokens = tokens[:-1]
        if not tokens or all(token in _ABSENT for token in tokens):
            return line
        ends = _ends(line.text, tokens)
        if ends[0] > self._layout.zone and all(
            min(abs(column.edge - end) for column in table) <= _TOLERANCE for end in ends
        ):
            return line
        if not self._in_order(tokens):
            return None
        text = " " * line.indent + label
        for token, column in zip(tokens, _wide(table, len(text)), strict=False):
            text += token.rjust(max(column.edge - len(text), len(token) + 1))
        return Line(line.number, text, line.indent, line.offset)

    def _in_order(self, tokens: Sequence[str]) -> bool:
        """Whether figures can only be those of the first columns."""
        table = self._layout.columns
        if len(tokens) == len(table):
            return True
        open_end = table[-1].measure == PERCENT_OF_TOTAL and not any("%" in token for token in tokens)
        return open_end and len(tokens) == len(table) - 1

    def _take_titles(self, line: Line, titles: columns.Heading, below: str) -> None:
        super()._take_titles(line, titles, below)
        measures = [column.measure for column in self._layout.columns]
        usual = STANDARD.columns[: len(measures)]
        if measures == [column.measure for column in usual]:
            self._layout = Layout(usual, STANDARD.zone)
        elif self._layout.zone < _LABEL_RULE:
            self._layout = Layout(
                tuple(Column(measure, 41 + 14 * at) for at, measure in enumerate(measures)), STANDARD.zone
            )

    def _placed_rule(self, line: Line) -> Line:
        runs = columns.spans(line.text)
        width = runs[0][1] - runs[0][0]
        if len(runs) == 1:
            return line.moved(0 if width > _FULL_RULE else self._indent)
        if all(after[0] - before[1] == 1 for before, after in itertools.pairwise(runs)):
            line = Line(line.number, "  ".join(line.text.split()), 0, line.offset)
        return line.moved(
            0 if width >= _SECTION_RULE else _TABLE_INDENT if width >= _LABEL_RULE else _FIGURES_INDENT
        )


def _ends(text: str, tokens: Sequence[str]) -> list[int]:
    """Where the last figures of a line end."""
    ends: list[int] = []
    end = len(text)
    for token in reversed(tokens):
        number = token.removesuffix(" %")
        start = text.rfind(number, 0, end)
        last = text.find("%", start, end) + 1 if token.endswith("%") else start + len(number)
        ends.insert(0, last)
        end = start
    return ends


def _wide(table: Sequence[Column], label: int) -> Sequence[Column]:
    """Columns that all stand right of the zone."""
    if table[0].edge > STANDARD.zone:
        return table
    return [Column(column.measure, 41 + 14 * at) for at, column in enumerate(table)]
