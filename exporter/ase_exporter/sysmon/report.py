"""From the text of sp_sysmon to a Report; every version from 12.5 to 16.0, whole, cut short or damaged."""

from collections.abc import Iterator

from ase_exporter.errors import UserError
from ase_exporter.sysmon import columns, noise, wizard
from ase_exporter.sysmon.header import HeaderReader, instance_of, is_header_line
from ase_exporter.sysmon.headlines import SECTION_KEYWORDS
from ase_exporter.sysmon.lines import TITLE, Line, read_lines
from ase_exporter.sysmon.sections import SectionReader
from ase_exporter.sysmon.structure import Remark, Report, Section

_EMPTY = Line(0, "", 0)
_SECTIONS = {*SECTION_KEYWORDS.values(), "Bucketpool Activity", "NV Cache Management", "Replication Agent"}


class NotAReportError(UserError):
    """The text holds no trace of sp_sysmon."""


def parse(text: str, name: str = "text") -> Report:
    """The first report of a text; raises NotAReportError."""
    return parse_all(text, name)[0]


def parse_all(text: str, name: str = "text") -> list[Report]:
    """Every report of a text, in its order (a file may hold several runs); raises NotAReportError.

    Never raises anything else, whatever the text holds; what could not be read is in `warnings`.
    """
    lines = read_lines(text)
    reports = [report for block in _blocks(lines) if (report := _Reader(block).read())]
    if not reports:
        raise NotAReportError(
            f"{name}: not an sp_sysmon report: expected the title '{TITLE}' or a section "
            "such as 'Kernel Utilization'"
        )
    return reports


def _blocks(lines: list[Line]) -> Iterator[list[Line]]:
    """The lines of each report: a new one starts at each title."""
    start = 0
    for position, line in enumerate(lines):
        if line.text.endswith(TITLE) and any(TITLE in earlier.text for earlier in lines[start:position]):
            yield lines[start:position]
            start = position
    yield lines[start:]


class _Reader:
    """One pass over the lines of one report."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._report = Report()
        self._header: HeaderReader | None = None
        self._section: SectionReader | None = None
        self._instance = ""
        self._found = False

    def read(self) -> Report | None:
        """The report, or None where these lines hold none."""
        position = 0
        while position < len(self._lines):
            position = self._step(position)
        if self._header:
            self._report.header = self._header.header()
        if not self._found:
            return None
        self._close()
        if not self._report.complete:
            self._report.warnings.append(
                Remark(self._lines[-1].number, "no End of Report line: the text is cut")
            )
        return self._report

    def _step(self, position: int) -> int:
        line = self._lines[position]
        below = self._lines[position + 1] if position + 1 < len(self._lines) else _EMPTY
        message = noise.server_message(self._lines, position)
        status = noise.return_status(line)
        if message:
            self._report.messages.append(message[0])
            return message[1]
        if status is not None:
            self._report.return_status = status
        elif noise.END_OF_REPORT in line.text:
            self._report.complete = self._found
            self._close()
        elif line.text.endswith(TITLE):
            self._begin()
        elif wizard.starts(line, below):
            return self._take_wizard(position)
        elif not noise.is_chatter(line):
            self._take(line, below)
        return position + 1

    def _begin(self) -> None:
        """The title: what stood before it, unless it was of a report too, is of something else."""
        self._close()
        if not self._found:
            self._report = Report()
        self._header, self._found = HeaderReader(), True

    def _take(self, line: Line, below: Line) -> None:
        opened = _section_heading(line, below)
        if opened:
            self._open(*opened)
        elif line.text.startswith("====="):
            self._close()
        elif self._section:
            self._section.take(line, below.text)
        elif (instance := instance_of(line)) and self._report.sections:
            self._instance = instance
        elif self._header or is_header_line(line):
            self._found = True
            self._header = self._header or HeaderReader()
            self._header.take(line)

    def _open(self, section: Section, layout: columns.Layout) -> None:
        self._close()
        known = section.name in _SECTIONS
        if self._report.complete and not known:
            return
        self._found |= known
        section.instance = self._instance
        self._section = SectionReader(section, layout)

    def _close(self) -> None:
        if self._section:
            self._report.sections.append(self._section.section)
            self._report.warnings.extend(self._section.warnings)
            self._section = None

    def _take_wizard(self, position: int) -> int:
        self._close()
        self._found = True
        section, after = wizard.read(self._lines, position)
        self._report.sections.append(section)
        return after


def _section_heading(line: Line, below: Line) -> tuple[Section, columns.Layout] | None:
    """A section's name stands at the margin and is underlined, with its column titles or without."""
    if (
        line.blank
        or line.indent
        or below.indent
        or columns.is_rule(line.text)
        or not columns.is_rule(below.text)
    ):
        return None
    if not line.text[0].isupper() or below.text.startswith("="):
        return None
    titles = columns.heading(line.text, below.text)
    if titles:
        return Section(titles.label, line.number), columns.layout(titles, below.text)
    underline = columns.spans(below.text)
    if len(underline) != 1 or abs(underline[0][1] - len(line.text)) > 4:
        return None
    return Section(line.words, line.number), columns.STANDARD
