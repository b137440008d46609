"""Reads the body of a section: sub-headings by indentation, rows by columns."""

import re
from dataclasses import dataclass, replace

from ase_exporter.sysmon import columns
from ase_exporter.sysmon.columns import STANDARD, Layout
from ase_exporter.sysmon.grammar import grammar
from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import VALUE, Cell, Remark, Row, Section

_NAMED = re.compile(
    r"(?P<kind>ThreadPool :|Cache:|NV Cache:|Device:|Application(?:->Login)?:|Replication (?:Agent|Server):)"
    r"(?P<name>.*)"
)
_BLOCKS = ("Cache:", "NV Cache:", "Application:", "Application->Login:", "Replication Agent:")
_DEVICES = "Device Activity Detail"
_CONTAINERS = ("Application", _DEVICES, "Replication Agent:")
_OF_THE_SERVER = ("Total ", "Server Summary")
_MANY_BLOCKS = (
    "Transaction Detail",
    "Lock Detail",
    "Metadata Cache Summary",
    "ULC Flushes to Xact Log",
)
_SENTENCES = (
    (re.compile(r"(?P<label>.* are consuming) (?P<value>\S+) (?P<unit>CPU units)\.?"), "cpu_units"),
    (re.compile(r"(?P<label>Throughput \(.*\)) : +(?P<value>\S+)"), VALUE),
    (re.compile(r"(?P<label>.{1,60}\S) is set to +(?P<value>\S+?)\.?"), VALUE),
    (re.compile(r"(?P<label>.{1,60}?\S) {2,}(?P<value>\S+) (?P<unit>seconds|ms|milliseconds)\.?"), "seconds"),
)
_PAIR = re.compile(r"(?P<name>[A-Z]\w{1,30}): +(?P<value>[-\d.]{1,30})(?: ?%)?(?=\s|$)")
_SUMMARY = re.compile(r"(?P<name>(?:\w+ )?Summary) Total")
_OF_THE_DEVICE = "Mirror Semaphore "
_RECOMMENDATIONS = "Tuning Recommendations"
_FULL_WIDTH = 70
_LABEL_LINES = 3
_MIN_ROW_FIGURES = 3
_POOL = 0.25


@dataclass(frozen=True, slots=True)
class _Heading:
    """One level of the path. depth: its indentation; row: whether it is a row with rows below it."""

    depth: float
    text: str
    row: bool = False


class SectionReader:
    """Reads one section after its heading, line by line."""

    def __init__(self, section: Section, layout: Layout = STANDARD) -> None:
        self.section = section
        self.warnings: list[Remark] = []
        self.unread: list[Line] = []
        self.unknown = 0
        self._layout = layout
        self._container = ""
        self._table = ""
        self._table_indent = -1
        self._stack: list[_Heading] = []
        self._in_device = False
        self._advising = False
        self._advised = ""
        self._summary = ""
        self._after_blank = False
        self._after_rule = False
        self._adjacent: Line | None = None

    def take(self, line: Line, below: str) -> None:
        """Read one line; below: the text of the next one."""
        if line.blank or columns.is_rule(line.text):
            self._after_blank |= line.blank
            self._after_rule |= not line.blank
            self._adjacent = None
            self._stack = [heading for heading in self._stack if not heading.row]
            return
        if not self._take_advice(line):
            self._take_text(line, below)
        self._after_blank = self._after_rule = False
        self._adjacent = line

    def close(self) -> None:
        """End the section."""

    def in_advice(self, text: str) -> bool:
        """Whether a line is part of tuning recommendations."""
        if text.startswith((_RECOMMENDATIONS, "- ")):
            return True
        return bool(self._advising and self._adjacent and self.section.recommendations)

    def is_sentence(self, text: str) -> bool:
        """Whether a line has its figure in a sentence."""
        return any(pattern.fullmatch(text) for pattern, _ in _SENTENCES) or len(_PAIR.findall(text)) > 1

    def _take_advice(self, line: Line) -> bool:
        """Tuning recommendations: their figures are not part of the sample."""
        text = line.text.strip()
        advice = self.section.recommendations
        if text.startswith(_RECOMMENDATIONS):
            self._advising = True
            self._advised = text.partition(" : ")[2].strip()
        elif self._advising and text.startswith("- "):
            advice.append(Remark(line.number, text[2:], self._advised))
        elif self._advising and self._adjacent and advice:
            advice[-1] = replace(advice[-1], text=f"{advice[-1].text} {text}")
        else:
            self._advising = False
        return self._advising

    def _take_text(self, line: Line, below: str) -> None:
        named = _NAMED.fullmatch(line.text.strip())
        titles = None if named else columns.heading(line.text, below)
        if named:
            self._take_name(line, named["kind"], named["name"].strip())
        elif titles:
            self._take_titles(line, titles, below)
        elif self._in_device:
            self._take_device_path(line)
        elif not self._take_sentence(line) and not self._take_row(line):
            self._take_heading(line, below)

    def _take_name(self, line: Line, kind: str, name: str) -> None:
        """A block with a user-given name, which may hold blanks and numbers."""
        if kind == "Device:":
            self._in_device, self._container = True, _DEVICES
        elif kind == "ThreadPool :":
            pool, _, remark = name.partition(" : ")
            self._pop(line.indent + _POOL)
            self._stack.append(_Heading(line.indent + _POOL, f"{kind} {pool.strip()}"))
            if remark:
                self._remark(line)
        elif kind in _BLOCKS:
            self._open(f"{kind} {name}", line.indent)
        else:
            self._pop(line.indent)
            self._stack.append(_Heading(line.indent, f"{kind} {name}"))

    def _take_device_path(self, line: Line) -> None:
        """The physical name of a device; rows in its place have lost the logical one."""
        found = columns.figures(line.text, STANDARD)
        if found and found.count >= _MIN_ROW_FIGURES:
            self.unread.append(line)
        else:
            self._remark(line)

    def _take_titles(self, line: Line, titles: columns.Heading, below: str) -> None:
        if self._in_device:
            self._open(titles.label, line.indent)
            self._in_device = False
        elif titles.label:
            self._open(" ".join(titles.label.split()), line.indent)
        self._layout = columns.layout(titles, below)

    def _take_sentence(self, line: Line) -> bool:
        """A figure in a sentence, outside of all columns."""
        for pattern, measure in _SENTENCES:
            match = pattern.fullmatch(line.text.strip())
            value = columns.number(match["value"]) if match else None
            if match is None or (value is None and match["value"].lower() != "n/a"):
                continue
            start = line.offset + line.indent + match.start("value")
            cells = () if value is None else (Cell(measure, value, match["value"], start),)
            label = re.sub(r"^and (?=[A-Z])", "", " ".join(match["label"].split()))
            row = Row((), label, line.number, cells)
            self.section.rows.append(row)
            self._warn(row)
            return True
        return self._take_pairs(line)

    def _take_pairs(self, line: Line) -> bool:
        """Several figures, each behind its name, as 12.5 prints the summary of its engines."""
        pairs = [(pair, columns.number(pair["value"])) for pair in _PAIR.finditer(line.text)]
        cells = tuple(
            Cell(pair["name"].lower(), value, pair["value"], line.offset + pair.start("value"))
            for pair, value in pairs
            if value is not None
        )
        if len(cells) < 2:
            return False
        self._pop(line.indent)
        label = " ".join(line.text[: pairs[0][0].start()].split()) or "Summary"
        row = Row(self._path(), label, line.number, cells)
        self.section.rows.append(row)
        self._warn(row)
        return True

    def _take_row(self, line: Line) -> bool:
        found = columns.figures(line.text, self._layout)
        if found is None:
            return False
        self._end_table(line, found.label)
        label = self._whole_label(" ".join(found.label.split()), line.indent)
        depth = self._depth(label, line.indent)
        self._pop(depth)
        if not label and self._stack:
            label = self._stack.pop().text
        cells = tuple(replace(cell, column=cell.column + line.offset) for cell in found.cells)
        row = Row(self._path(), label, line.number, cells, found.overflow)
        size = row.get("bucket_size")
        if size is not None:
            row.label = f"{label} {size:.0f}"
        self._stack.append(_Heading(depth, row.label, row=True))
        self.section.rows.append(row)
        self._warn(row)
        return True

    def _whole_label(self, label: str, indent: int) -> str:
        """The label including its beginning on the lines above."""
        if label == "Average" and self._summary and self._adjacent:
            return f"{self._summary} {label}"
        summary = _SUMMARY.fullmatch(label)
        self._summary = summary["name"] if summary else ""
        while label and self._goes_on(indent):
            label = f"{self._stack.pop().text} {label}"
        return label

    def _depth(self, label: str, indent: int) -> float:
        """The depth of a row; summaries of a thread pool belong to it although they are not indented deeper."""
        if self._summary and label.endswith(" Average") and self._stack:
            return self._stack[-1].depth
        if label.startswith("Pool Summary"):
            return indent + 2 * _POOL
        if label.startswith(_OF_THE_SERVER):
            self._stack = [heading for heading in self._stack if not heading.text.startswith("ThreadPool :")]
        return indent

    def _take_heading(self, line: Line, below: str) -> None:
        text = line.words
        if text.startswith("(") and self._adjacent and self.section.rows:
            row = self.section.rows[-1]
            row.label = f"{row.label} {text}"
            return
        under = columns.spans(below) if columns.is_rule(below) else []
        if len(under) == 1 and under[0][1] - under[0][0] < _FULL_WIDTH:
            self._open(text, line.indent)
            return
        self._end_table(line)
        if not self._goes_on(line.indent):
            self._pop(line.indent)
        self.unknown += not grammar().lines(self.section.name, text)
        self._stack.append(_Heading(line.indent, text))
        self._remark(line)

    def _goes_on(self, indent: int) -> bool:
        """Whether the line above is text at the same indentation: the beginning of a label of several lines."""
        top = self._stack[-_LABEL_LINES:]
        whole = len(top) == _LABEL_LINES and all(heading.depth == indent for heading in top)
        return bool(self._adjacent and top) and top[-1] == _Heading(indent, top[-1].text) and not whole

    def _open(self, name: str, indent: int) -> None:
        """Start a new table or block: drop all state of the one before."""
        self._close()
        if name.startswith(_CONTAINERS):
            self._container = name
        else:
            self._table, self._table_indent = name, indent

    def _close(self) -> None:
        self._table, self._table_indent, self._summary, self._layout = "", -1, "", STANDARD
        self._stack.clear()

    def _end_table(self, line: Line, label: str = "") -> None:
        """After a blank line, text at the indentation of the table's title belongs to the next block."""
        ended = self._after_blank and not self._after_rule and line.indent <= self._table_indent
        if ended and self._table not in _MANY_BLOCKS and not label.startswith(_OF_THE_DEVICE):
            self._close()

    def _pop(self, depth: float) -> None:
        while self._stack and self._stack[-1].depth >= depth:
            self._stack.pop()

    def _path(self) -> tuple[str, ...]:
        by_depth = {heading.depth: heading.text for heading in self._stack}
        return tuple(name for name in (self._container, self._table, *by_depth.values()) if name)

    def _remark(self, line: Line) -> None:
        self.section.remarks.append(Remark(line.number, line.text.strip()))

    def _warn(self, row: Row) -> None:
        name = " / ".join((self.section.name, *row.path, row.label))
        for measure in row.overflow:
            self.warnings.append(Remark(row.line, f"{name}: {measure} did not fit its column (asterisks)"))
        for cell in row.cells:
            if cell.wrapped:
                text = f"{name}: {cell.measure} is negative ({cell.text}): its counter wrapped"
                self.warnings.append(Remark(row.line, text))
