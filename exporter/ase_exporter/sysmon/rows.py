"""Aligns the lines of a report with the grammar: which section, sub-heading and row each of them is.

A row is placed where its sub-headings have been read. A line that is not known, or whose figures do not fit their
columns, is unread; so is a row that comes twice.
"""

import re
from dataclasses import dataclass

from ase_exporter.sysmon.grammar import (
    BUCKETS,
    DEVICES,
    KnownRow,
    Meaning,
    Names,
    grammar,
    has_names,
    is_named,
    place,
    untitled,
)
from ase_exporter.sysmon.lines import ReportLine
from ase_exporter.sysmon.structure import (
    COUNT,
    PERCENT_OF_TOTAL,
    Remark,
    Report,
    ReportCell,
    ReportRow,
    ReportSection,
)
from ase_exporter.sysmon.values import Value, in_columns, split

_ADVICE = "Tuning Recommendations "
_BULLET = re.compile(r"- (?=[A-Z])")
_IDLE = " : no activity during sample"
_UNITS = re.compile(r"(?<! ) +(?:CPU units\.|seconds)$")
# Both figures of the process kernel of 12.5 on one line.
_SUMMARY = re.compile(r"(Summary:) +Total: (.*) Average: ")
# Printed twice for what is idle.
_PRINTED_TWICE = "Total I/Os"
# How many figures at the end of a label are part of it.
_NUMBERS_OF_LABELS = 2


@dataclass(slots=True)
class _Pending:
    """A row without figures: they are on the next line."""

    line: ReportLine
    known: KnownRow
    path: Names
    label: str


class RowReader:
    """Reads the lines of a report below its header."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.instance = ""
        self._grammar = grammar()
        self._buckets = {len(row.columns): row for row in self._grammar.rows if row.section == BUCKETS}
        self._section: ReportSection | None = None
        self._rows: dict[tuple[str, str, Names, str], ReportRow] = {}
        self._entered: set[tuple[str, str, Names]] = set()
        self._path: Names = ()
        # No row has been read since the innermost heading.
        self._fresh = True
        self._last = ""
        # The lines below `Device:`.
        self._device: list[str] | None = None
        # Whether recommendations may follow, and whether the line before belongs to one.
        self._advice = self._advised = False
        self._pending: _Pending | None = None
        # The decimal mark of this text.
        self._mark = ""

    def take_rule(self) -> None:
        """A rule, or a line without text, which ends a recommendation."""
        self._advised = False

    def take(self, line: ReportLine) -> None:
        """Read one line."""
        text = _SUMMARY.sub(r"\1\2 ", _UNITS.sub("", untitled(line.text)))
        if not text or self._take_device(line, text) or self._take_advice(line):
            return
        pending, self._pending = self._pending, None
        if is_named(text):
            self._take_text(line, self._grammar.meaning(text), pending)
            return
        words, values = split(text)
        if not words and pending is not None:
            self._keep(line, pending.known, pending.path, pending.label, values)
            return
        if self._take_bucket(line, text, values):
            return
        for more in range(min(_NUMBERS_OF_LABELS, len(values)) + 1):
            end = values[more - 1].end if more else words[-1].end() if words else 0
            meaning = self._grammar.meaning(text[:end])
            if meaning.known:
                if values[more:]:
                    self._take_row(line, meaning, values[more:])
                else:
                    self._take_text(line, meaning, pending)
                return
        self._unread(line, "no known line" if self._section else "in no section")

    def _unread(self, line: ReportLine, why: str) -> None:
        self.report.unread.append(Remark(line.number, f"{why}: {line.bare}"))

    def _remark(self, line: ReportLine) -> None:
        if self._section is not None:
            self._section.remarks.append(Remark(line.number, line.bare))

    def _open(self, name: str, line: ReportLine) -> None:
        """Begin a section, or go on with one that should not come again."""
        same = (one for one in self.report.sections if (one.instance, one.name) == (self.instance, name))
        if earlier := next(same, None):
            self._unread(line, f"there twice, first in line {earlier.line}")
        self._section = earlier or ReportSection(name, line.number, self.instance)
        if not earlier:
            self.report.sections.append(self._section)
        self._advice = False
        self._enter(())

    def _enter(self, path: Names) -> None:
        self._path, self._fresh, self._last = path, True, ""

    def _take_device(self, line: ReportLine, text: str) -> bool:
        """The two lines below `Device:`: the physical name, and the logical one with the column titles."""
        if self._device is None:
            return False
        self._remark(line)
        self._device.append(text)
        if len(self._device) == len(("physical", "logical")):
            name = text.strip()
            if len({each.find(each.strip()) for each in self._device}) > 1:
                self._unread(line, "not below the physical name")
            self._enter((*DEVICES, name))
            self._device = None
        return True

    def _take_advice(self, line: ReportLine) -> bool:
        """Tuning recommendations: their figures are not part of the sample."""
        text = line.text.strip()
        if self._section is None:
            return False
        if text.startswith(_ADVICE):
            self._advice = True
        elif self._advice and _BULLET.match(text):
            self._advised = True
        elif not self._advised:
            self._advice = False
            return False
        self._section.advice.append(Remark(line.number, text))
        return True

    def _take_text(self, line: ReportLine, meaning: Meaning, pending: _Pending | None) -> None:
        """A label without figures."""
        if meaning.section:
            self._open(meaning.section, line)
        elif meaning.name == "Device:":
            self._enter(DEVICES)
            self._device = []
        elif (meaning.headings and self._take_heading(line, meaning)) or (
            meaning.rows and self._take_row(line, meaning, [])
        ):
            pass
        elif meaning.text and self._section is not None:
            # The first lines of a label.
            self._pending = pending
            self._remark(line)
        else:
            self._unread(line, "not known here")

    def _take_heading(self, line: ReportLine, meaning: Meaning) -> bool:
        """Enter a block; whether it can be here."""
        if self._section is None:
            return False
        name = meaning.name.removesuffix(_IDLE)
        own = self._section.name
        here = place(own, self._path, "")[0]
        reached = [
            path
            for section, path in meaning.headings
            if section == own and here[: len(path) - 1] == path[:-1]
        ]
        if not reached:
            return False
        path = max(reached, key=len)
        above = self._path[: len(path) - 1]
        if name != meaning.name:
            self._remark(line)
            self._enter(above)
            return True
        self._enter((*above, name if has_names(path[-1]) else path[-1]))
        if (self.instance, own, self._path) in self._entered:
            self._unread(line, "there twice")
        self._entered.add((self.instance, own, self._path))
        if total := self._grammar.known(own, above, self._path[-1]):
            self._pending = _Pending(line, total, above, self._path[-1])
        return True

    def _take_bucket(self, line: ReportLine, text: str, values: list[Value]) -> bool:
        """Memory pools have names of their own; their tables have three columns, or four without decimals."""
        columns = 3 if values and values[-1].decimals else 4
        known = self._buckets.get(columns)
        name = (
            "" if len(values) < columns else text[: values[-columns].end - len(values[-columns].text)].strip()
        )
        if not name or known is None or self._section is None or self._section.name != BUCKETS:
            return False
        label = f"{' '.join(name.split())} {values[-columns].text}"
        self._keep(line, known, known.path, label, values[-columns:])
        return True

    def _take_row(self, line: ReportLine, meaning: Meaning, values: list[Value]) -> bool:
        """A row at the first of its possible places where its figures fit the columns; whether there is one."""
        places = self._places(meaning)
        for known, path in places:
            label = _label(known, meaning.name, self._last)
            if label and in_columns(known, values) is not None:
                self._keep(line, known, path, label, values)
                return True
        if values:
            self._unread(line, "its figures do not fit its columns" if places else "not known here")
        return False

    def _places(self, meaning: Meaning) -> list[tuple[KnownRow, Names]]:
        """The places at which a row can stand here, the deepest first; their paths have the names of this report."""
        own = self._section.name if self._section else ""
        here = place(own, self._path, "")[0]
        reached = [
            (row, self._path[: len(row.path)])
            for row in meaning.rows
            if row.section == own and here[: len(row.path)] == row.path
        ]
        depths = sorted({len(path) for _, path in reached}, reverse=True)
        # A total that stands alone below its heading is one level deeper than one below the rows of its block.
        alone = self._fresh and depths[:1] == [len(here)]
        if len(depths) > 1 and meaning.name.startswith("Total ") and not alone:
            depths = depths[1:]
        return [item for depth in depths for item in reached if len(item[1]) == depth]

    def _keep(self, line: ReportLine, known: KnownRow, path: Names, label: str, values: list[Value]) -> None:
        """Add a row to its section, and stand below it."""
        section, cells = self._section, in_columns(known, values)
        if section is None or cells is None or not self._one_mark(values):
            self._unread(line, "its figures do not fit its columns")
            return
        row = ReportRow(
            path,
            label,
            line.number,
            tuple(
                ReportCell(measure, value.number, value.text)
                for measure, value in cells
                if value.number is not None
            ),
            tuple(measure for measure, value in cells if value.kind == "overflow"),
        )
        earlier = self._rows.setdefault((section.instance, section.name, path, label), row)
        if earlier is not row and not (label == _PRINTED_TWICE and _is_idle(earlier, row)):
            self._unread(line, f"there twice, first in line {earlier.line}")
            return
        self._rows[section.instance, section.name, path, label] = row
        section.rows.append(row)
        self._warn(section, row)
        nested = (*known.path, known.label)
        below = nested in self._grammar.paths[section.name]
        if below and self._path != (*path, label):
            self._enter((*path, label))
        elif not below:
            self._path, self._fresh = path, False
        self._last = label

    def _one_mark(self, values: list[Value]) -> bool:
        """Whether these figures have the decimal mark of the others: another one is a separator of thousands."""
        marks = {value.mark for value in values if value.mark}
        self._mark = self._mark or next(iter(marks), "")
        return marks <= {self._mark}

    def _warn(self, section: ReportSection, row: ReportRow) -> None:
        """Warn of figures that are useless."""
        name = " / ".join((section.name, *row.path, row.label))
        texts = [f"{measure} did not fit its column (asterisks)" for measure in row.overflow]
        texts += [
            f"{cell.measure} is negative ({cell.text}): its counter wrapped"
            for cell in row.cells
            if cell.wrapped
        ]
        self.report.warnings += [Remark(row.line, f"{name}: {text}") for text in texts]


def _label(known: KnownRow, name: str, last: str) -> str:
    """The whole label of a row; '' where it cannot be the row. An average is that of the total above it."""
    if known.text == known.label:
        return name if has_names(known.label) else known.label
    if known.text == "Average" and last != f"{known.label.removesuffix('Average')}Total":
        return ""
    return known.label


def _is_idle(total: ReportRow, again: ReportRow) -> bool:
    """Whether two totals are those of what is idle: the first one without a percentage, both 0."""
    shares = total.get(PERCENT_OF_TOTAL), again.get(PERCENT_OF_TOTAL)
    return shares == (None, 0.0) and total.get(COUNT) == again.get(COUNT) == 0
