"""Aligns the lines of a report with the grammar: which section, sub-heading and row each of them is.

Only labels and their order matter: rules, blank lines, column titles and margins do not. A row is placed where its
sub-headings have been read, or where its label alone can stand in one place. Every number becomes a figure, is
discarded for a known reason, or is unplaced.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

from ase_exporter.sysmon.grammar import BUCKETS, DEVICES, KnownRow, Meaning, Names, grammar, is_named, place
from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import Cell, Remark, Report, Row, Section
from ase_exporter.sysmon.tokens import Word, in_columns, words

_TITLES = re.compile(
    r"(?:per ?sec\W+per ?xact\W+count(?:\W+of ?total)?"
    r"|(?:(?:User|System|CPU) Busy\W+)+(?:I/?O Busy\W+)?Idle"
    r"|1 min\W+5 min\W+15 min(?:\W+of ?total)?"
    r"|BucketSize\W+Allocs(?:/s\W+AllocsMissed/s|\W+Frees\W+Found ?empty))\W*$",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"Tuning Recommendations\b[^:]*(?:: *(?P<about>.*))?", re.IGNORECASE)
_BULLET = re.compile(r"[-–•*·] *(?=[^\W\d_])")
_DEVICE = re.compile(r"Device:?", re.IGNORECASE)
_IDLE = re.compile(r"\s*:\s*no activity during sample.*", re.IGNORECASE)
_BUCKET = re.compile(r"#[#*]{3}|#[.*]{2}")
_DISKS = "Disk I/O Management"
# Printed twice for what is idle.
_PRINTED_TWICE = "Total I/Os"
# How many headings above a row come again with it: a table comes once, however many devices it has.
_TABLE_AND_NAME = 2
_MAX_LABEL_WORDS = 24
_MAX_PIECES = 12
# Lines with fewer figures that come again and again are no rows: headers of pages and the like.
_MIN_ROW_VALUES = 3
_MIN_REPEATS = 3
_NO_FIGURES = re.compile(
    r"\bpage \d|\d rows?\b|row\(s\)|last message repeated|\d\d:\d\d|\d{4}-\d\d-\d\d|\d[/.]\d\d?[/.]\d{2,4}|://"
    r"|^\W*\d{1,4}\W*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(slots=True)
class _Pending:
    """A row whose figures have not all been read: they may be on the next line."""

    line: Line
    known: KnownRow
    path: Names
    label: str
    values: list[Word]


def numbers_in(text: str) -> int:
    """How many numbers a text holds."""
    return len(_NUMBER.findall(text))


class Recogniser:
    """Reads the lines of a report below its header."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.instance = ""
        self._grammar = grammar()
        self._section: Section | None = None
        self._sections: dict[tuple[str, str], Section] = {}
        # Each row with its place among all of them.
        self._rows: dict[tuple[str, str, Names, str], tuple[Row, int]] = {}
        self._path: Names = ()
        # How many rows were there when a heading came last.
        self._entered: dict[Names, int] = {}
        # No row has been read since the innermost heading.
        self._fresh = True
        self._last = ""
        # The lines below `Device:`.
        self._device: list[str] | None = None
        self._about: str | None = None
        self._pending: _Pending | None = None
        self._unknown: list[tuple[Line, int, int]] = []

    def take(self, line: Line) -> None:
        """Read one line."""
        bare = _TITLES.sub("", line.text)
        titled = len(bare) < len(line.text)
        self.report.discarded += numbers_in(line.text[len(bare) :])
        text = bare.rstrip()
        found = words(text)
        if self._device is not None and text and self._take_device(line, text, found, titled):
            return
        if not found:
            return
        if not self._take_advice(line, text.strip(), found):
            self._take_pieces(line, text, found)

    def finish(self) -> None:
        """Judge what is no known line, once all of the text was read."""
        self._give_up()
        shapes = Counter(re.sub(r"\d+", "#", line.words) for line, _, _ in self._unknown)
        for line, values, numbers in self._unknown:
            repeated = shapes[re.sub(r"\d+", "#", line.words)] >= _MIN_REPEATS
            if values < _MIN_ROW_VALUES and (repeated or _NO_FIGURES.search(line.text)):
                self.report.discarded += numbers
            else:
                self._unplaced(line, numbers, "no known row")

    def open(self, name: str, line: int) -> Section:
        """The section of that name, which goes on where it was read before."""
        self._give_up()
        section = self._sections.get((self.instance, name))
        if section is None:
            section = Section(name, line, self.instance)
            self._sections[self.instance, name] = section
            self.report.sections.append(section)
        self._section, self._about, self._device = section, None, None
        self._enter(())
        return section

    def _enter(self, path: Names) -> None:
        self._path, self._fresh, self._last = path, True, ""
        self._entered[path] = len(self._rows)

    def _unplaced(self, line: Line, numbers: int, why: str) -> None:
        self.report.lost += numbers
        self.report.unplaced.append(Remark(line.number, f"{why}: {line.words}"))

    def _remark(self, line: Line, text: str) -> None:
        self.report.discarded += numbers_in(text)
        if self._section is not None:
            self._section.remarks.append(Remark(line.number, " ".join(text.split())))

    def _take_device(self, line: Line, text: str, found: list[Word], titled: bool) -> bool:
        """The two lines below `Device:`: the physical name, and the logical one with the column titles."""
        assert self._device is not None
        if titled or not self._starts_known(text, found):
            self._remark(line, text)
            self._device.append(text.strip())
            if not titled:
                return True
        # Without titles, the second of two lines can only be the name.
        named = titled or len(self._device) == len(("physical", "logical"))
        self._enter((*DEVICES, self._device[-1]) if named else DEVICES)
        self._device = None
        return titled

    def _take_advice(self, line: Line, text: str, found: list[Word]) -> bool:
        """Tuning recommendations: their figures are not part of the sample."""
        advice = _ADVICE.fullmatch(text)
        if advice:
            self._about = (advice["about"] or "").strip()
            self.report.discarded += numbers_in(text)
            return True
        if self._about is None or self._section is None:
            return False
        kept = self._section.recommendations
        bullet = _BULLET.match(text)
        if bullet:
            kept.append(Remark(line.number, text[bullet.end() :], self._about))
        elif kept and not self._starts_known(text, found):
            kept[-1] = replace(kept[-1], text=f"{kept[-1].text} {text}")
        else:
            self._about = None
            return False
        self.report.discarded += numbers_in(text)
        return True

    def _starts_known(self, text: str, found: list[Word]) -> bool:
        """Whether a line begins with a known label, or ends in the figures of a row."""
        if not found:
            return False
        shift = found[0].start - (len(text) - len(text.lstrip()))
        label = next((at for at, word in enumerate(found) if word.is_value), len(found))
        starts = label > 0 and self._grammar.meaning(text[: found[label - 1].end - shift]).known
        return starts or self._grammar.meaning(text).known or _figures(found) >= _MIN_ROW_VALUES

    def _take_pieces(self, line: Line, text: str, found: list[Word]) -> None:
        """Read the pieces of a line: each a label and its figures; mostly there is one."""
        if is_named(text) and _figures(found) < _MIN_ROW_VALUES:
            name, _, rest = text.strip().partition("   ")
            self._give_up()
            # Lines that were joined.
            for part in (name, rest.strip()) if self._grammar.meaning(rest).known else (text,):
                self.report.discarded += numbers_in(part)
                self._take_text(line, self._grammar.meaning(part))
            return
        at = 0
        while at < len(found):
            piece = self._piece(text, found, at)
            if piece is None:
                end = _first_end(found, at)
                self._take_unknown(line, text[found[at].start : found[end - 1].end], found[at:end])
                at = end
                continue
            label_end, end = piece
            label = text[found[at].start : found[label_end - 1].end] if label_end > at else ""
            values = found[label_end:end]
            at = end
            self.report.discarded += numbers_in(label)
            if not label:
                self._continue_row(line, values)
                continue
            self._give_up()
            meaning = self._grammar.meaning(label)
            if self._is_bucket(values) and not meaning.rows:
                self._take_bucket(line, label, values)
            elif values:
                self._take_row(line, meaning, values)
            else:
                self._take_text(line, meaning)

    def _piece(self, text: str, found: list[Word], at: int) -> tuple[int, int] | None:
        """Ends of the label and of the figures of the piece that begins at a word; None where it is unknown."""
        ends = [
            end for end in range(at + 1, len(found)) if found[end - 1].is_value and not found[end].is_value
        ]
        for end in [len(found), *reversed(ends[:_MAX_PIECES])]:
            values = end
            while values > at and found[values - 1].is_value:
                values -= 1
            if values == at and end == len(found):
                return at, end
            # A label may end in numbers.
            for label in range(values, min(values + 3, end + 1)):
                if label - at > _MAX_LABEL_WORDS:
                    break
                meaning = self._grammar.meaning(text[found[at].start : found[label - 1].end])
                if label == end and meaning.known:
                    return label, end
                # In the middle of a line, a single number may be the beginning of the next label.
                whole = (
                    end == len(found) or end - label > 1 or any(len(row.slots) == 1 for row in meaning.rows)
                )
                bucket = label == values and self._is_bucket(found[label:end])
                if label < end and whole and (meaning.rows or bucket):
                    return label, end
        last = min(_first_end(found, at), at + _MAX_LABEL_WORDS)
        for end in range(last - 1, at, -1):
            if (
                not found[end].is_value
                and self._grammar.meaning(text[found[at].start : found[end - 1].end]).known
            ):
                return end, end
        return None

    def _take_unknown(self, line: Line, text: str, found: list[Word]) -> None:
        """Text of no known label: its numbers are judged at the end."""
        self._give_up()
        numbers = numbers_in(text)
        values = sum(word.is_value for word in found)
        if values and numbers and not self.report.ended:
            self._unknown.append((line, values, numbers))
        else:
            self._remark(line, text)

    def _take_text(self, line: Line, meaning: Meaning) -> None:
        """A label without figures."""
        if meaning.section:
            self.open(meaning.section, line.number)
        elif _DEVICE.fullmatch(meaning.name) or meaning.headings:
            self._take_heading(line, meaning)
        elif meaning.rows:
            self._take_row(line, meaning, [])
        elif self._section is not None:
            self._section.remarks.append(Remark(line.number, meaning.name))

    def _take_heading(self, line: Line, meaning: Meaning) -> None:
        """Enter a block. Below a heading whose place is not certain, only rows with one place are read."""
        if _DEVICE.fullmatch(meaning.name):
            if self._section is None or self._section.name != _DISKS:
                self.open(_DISKS, line.number)
            self._enter(DEVICES)
            self._device = []
            return
        name, idle = _IDLE.subn("", meaning.name)
        own = self._section.name if self._section else ""
        here = place(own, self._path, "")[0]
        reached = [
            path
            for section, path in meaning.headings
            if section == own and here[: len(path) - 1] == path[:-1]
        ]
        places = [found for found in meaning.headings if found[0] == own] or list(meaning.headings)
        if reached:
            path = max(reached, key=len)
            self._enter((*self._path[: len(path) - 1], name))
        elif len(places) == 1 and not _has_names(places[0][1][:-1]):
            section, path = places[0]
            if section != own:
                self.open(section, line.number)
            self._enter((*path[:-1], name))
        else:
            self._enter(())
            return
        assert self._section is not None
        if idle:
            self._section.remarks.append(Remark(line.number, meaning.name))
            self._enter(self._path[:-1])
            return
        total = self._grammar.known(self._section.name, self._path[:-1], name)
        if total:
            self._pending = _Pending(line, total, self._path[:-1], name, [])

    def _is_bucket(self, values: list[Word]) -> bool:
        """Memory pools have names of their own; their tables have three columns, or four without decimals."""
        if self._section is None or self._section.name != BUCKETS:
            return False
        # Asterisks stand in the place of any figure but the size.
        marks = {"number": "#", "overflow": "*"}
        shape = "".join("." if "." in value.text else marks.get(value.kind, "-") for value in values)
        return bool(_BUCKET.fullmatch(shape))

    def _take_bucket(self, line: Line, label: str, values: list[Word]) -> None:
        known = next(
            row for row in self._grammar.rows if row.section == BUCKETS and len(row.columns) == len(values)
        )
        name = f"{' '.join(label.split()).rstrip(' :')} {values[0].number:.0f}"
        self._keep(
            _Pending(line, known, known.path, name, values), list(zip(known.columns, values, strict=True))
        )

    def _take_row(self, line: Line, meaning: Meaning, values: list[Word]) -> None:
        """A row at the first of its possible places where its figures fit the columns."""
        waiting: _Pending | None = None
        for known, path in self._places(meaning):
            label = _label(known, meaning.name, self._last)
            if not label:
                continue
            cells = in_columns(values, known.slots, known.columns)
            if cells is not None:
                self._open_for(known, line)
                self._keep(_Pending(line, known, path, label, values), cells)
                return
            if waiting is None and len(values) < len(known.slots):
                waiting = _Pending(line, known, path, label, values)
        if waiting is not None:
            self._open_for(waiting.known, line)
            self._pending = waiting
            return
        numbers = sum(value.kind in ("number", "overflow") for value in values)
        if numbers:
            self._unplaced(line, numbers, "its place is not known")

    def _open_for(self, known: KnownRow, line: Line) -> None:
        """Be in the section of a row, whose title may be lost."""
        if self._section is None or self._section.name != known.section:
            self.open(known.section, line.number)

    def _places(self, meaning: Meaning) -> list[tuple[KnownRow, Names]]:
        """The places at which a row can stand here, the deepest first; their paths have the names of this report."""
        own = self._section.name if self._section else ""
        here = place(own, self._path, "")[0]
        of_section = [row for row in meaning.rows if row.section == own]
        reached = [
            (row, self._path[: len(row.path)]) for row in of_section if here[: len(row.path)] == row.path
        ]
        depths = sorted({len(path) for _, path in reached}, reverse=True)
        # A total that stands alone below its heading is one level deeper than one below the rows of its block.
        if (
            len(depths) > 1
            and meaning.name.startswith("Total ")
            and not (self._fresh and depths[0] == len(here))
        ):
            depths = depths[1:]
        if reached:
            return [item for depth in depths for item in reached if len(item[1]) == depth]
        elsewhere = {(row.section, row.path) for row in of_section or meaning.rows}
        if len(elsewhere) == 1 and not _has_names(next(iter(elsewhere))[1]):
            return [(row, row.path) for row in of_section or meaning.rows]
        return []

    def _continue_row(self, line: Line, values: list[Word]) -> None:
        """Figures without a label: the rest of a wrapped row, or a total of zero below its heading."""
        row, self._pending = self._pending, None
        if row is None:
            numbers = sum(value.kind == "number" for value in values)
            if self.report.ended:
                self.report.discarded += numbers
            elif numbers:
                self._unknown.append((line, len(values), numbers))
            return
        row.line = row.line if row.values else line
        row.values = [*row.values, *values]
        cells = in_columns(row.values, row.known.slots, row.known.columns)
        if cells is None:
            self._pending = row
        else:
            self._keep(row, cells)

    def _give_up(self) -> None:
        """A row whose figures are not all there."""
        row, self._pending = self._pending, None
        if row is not None and row.values:
            numbers = sum(value.kind == "number" for value in row.values)
            self._unplaced(row.line, numbers, "its columns are not certain")

    def _keep(self, pending: _Pending, cells: list[tuple[str, Word]]) -> None:
        """Add a row to its section, and stand below it."""
        section = self._section
        assert section is not None
        path, label, line = pending.path, pending.label, pending.line
        row = Row(
            path,
            label,
            line.number,
            tuple(
                Cell(measure, word.number, word.text, line.offset + word.start)
                for measure, word in cells
                if word.number is not None
            ),
            tuple(measure for measure, word in cells if word.kind == "overflow"),
        )
        key = (section.instance, section.name, path, label)
        earlier, place = self._rows.setdefault(key, (row, len(self._rows)))
        if earlier is row or (label == _PRINTED_TWICE and _agree(earlier, row)):
            section.rows.append(row)
            self._warn(section, row)
        elif not {cell.measure for cell in earlier.cells} & {cell.measure for cell in row.cells}:
            earlier.cells += row.cells
        elif self._is_repeated(earlier, place, row):
            self.report.discarded += len(row.cells)
        else:
            self._unplaced(line, len(row.cells), f"there twice, first in line {earlier.line}")
        nested = (*pending.known.path, pending.known.label)
        below = nested in self._grammar.paths[section.name]
        if below and self._path != (*path, label):
            self._enter((*path, label))
        elif not below:
            self._path, self._fresh = path, False
        self._last = label

    def _is_repeated(self, earlier: Row, place: int, row: Row) -> bool:
        """Whether a row came again with its headings; without them, the heading of another row may be lost."""
        if [cell.value for cell in earlier.cells] != [cell.value for cell in row.cells]:
            return False
        path = earlier.path
        ends = range(min(_TABLE_AND_NAME, len(path)), len(path) + 1)
        return all(self._entered.get(path[:end], 0) > place for end in ends if end)

    def _warn(self, section: Section, row: Row) -> None:
        """Warn of figures that are useless."""
        name = " / ".join((section.name, *row.path, row.label))
        texts = [f"{measure} did not fit its column (asterisks)" for measure in row.overflow]
        texts += [
            f"{cell.measure} is negative ({cell.text}): its counter wrapped"
            for cell in row.cells
            if cell.wrapped
        ]
        self.report.warnings += [Remark(row.line, f"{name}: {text}") for text in texts]


def _figures(found: list[Word]) -> int:
    """How many figures a line ends in."""
    return next((at for at, word in enumerate(reversed(found)) if not word.is_value), len(found))


def _label(known: KnownRow, name: str, last: str) -> str:
    """The whole label of a row; '' where it cannot be the row. An average is that of the total above it."""
    if known.text == known.label:
        return name
    if known.text == "Average" and last != f"{known.label.removesuffix('Average')}Total":
        return ""
    return known.label


def _agree(one: Row, two: Row) -> bool:
    return all(one.get(cell.measure) in (None, cell.value) for cell in two.cells)


def _has_names(path: Names) -> bool:
    return any("*" in part or "#" in part for part in path)


def _first_end(found: list[Word], at: int) -> int:
    """Where the first label and its figures end."""
    label = next((end for end in range(at, len(found)) if found[end].is_value), len(found))
    return next((end for end in range(label, len(found)) if not found[end].is_value), len(found))
