"""From the text of sp_sysmon to a Report; every version from 12.5 to 16.0, whole, cut short or damaged."""

from collections.abc import Iterable, Iterator

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.errors import UserError
from ase_exporter.sysmon import columns, noise, wizard
from ase_exporter.sysmon.coverage import check_rows, missing_parts
from ase_exporter.sysmon.grammar import grammar
from ase_exporter.sysmon.header import HeaderReader, instance_of, is_header_line, unreadable_times
from ase_exporter.sysmon.lines import TITLE, Line, clean, is_title, raw_lines
from ase_exporter.sysmon.margins import MarginReader, is_altered, section_name
from ase_exporter.sysmon.sections import SectionReader
from ase_exporter.sysmon.structure import Remark, Report, Section

MAX_REPORT_LINES = 250_000
_EMPTY = Line(0, "", 0)
_SECTIONS = {*SECTION_KEYWORDS.values(), "Bucketpool Activity", "NV Cache Management", "Replication Agent"}
_WHOLE_ENDS = ("%", "n/a")


class NotAReportError(UserError):
    """The text holds no trace of sp_sysmon."""


def parse(text: str, name: str = "text") -> Report:
    """The first report of a text; raises NotAReportError."""
    return parse_all(text, name)[0]


def parse_all(text: str, name: str = "text") -> list[Report]:
    """Every report of a text, in its order (a file may hold several runs); raises NotAReportError.

    Never raises anything else, whatever the text holds; what could not be read is in `warnings` and `unread`.
    """
    return list(read_reports(raw_lines(text), name))


def read_reports(lines: Iterable[str], name: str = "text") -> Iterator[Report]:
    """The reports of raw lines, one at a time: memory is bounded by the longest report, not by the file.

    Raises NotAReportError if there is none.
    """
    found = False
    for block in _blocks(lines):
        report = _Reader(block).read()
        if report:
            found = True
            yield report
        elif not found and len(block) >= MAX_REPORT_LINES:
            # Reading the rest of a file of another kind would take minutes.
            break
    if not found:
        raise NotAReportError(
            f"{name}: not an sp_sysmon report: expected the title '{TITLE}' or a section "
            "such as 'Kernel Utilization'"
        )


def _blocks(lines: Iterable[str]) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each report: a new one starts at each title, or where one would be too long."""
    block: list[tuple[int, str]] = []
    titled = False
    for number, line in enumerate(lines, 1):
        title = is_title(line)
        if (title and titled) or len(block) >= MAX_REPORT_LINES:
            yield block
            block, titled = [], False
        titled |= title
        block.append((number, line))
    yield block


class _Reader:
    """One pass over the lines of one report."""

    def __init__(self, block: list[tuple[int, str]]) -> None:
        self._lines = clean(block)
        self._cut = bool(block and block[-1][1])
        self._report = Report(altered=is_altered(self._lines))
        self._header: HeaderReader | None = None
        self._section: SectionReader | None = None
        self._instance = ""
        self._found = False
        self._titled = False

    def read(self) -> Report | None:
        """The report, or None where these lines hold none."""
        if self._cut:
            self._drop_cut_line()
        position = 0
        while position < len(self._lines):
            position = self._step(position)
        if not self._found:
            return None
        self._close()
        report = self._report
        if self._header:
            report.header = self._header.header()
            report.warnings += [Remark(0, text) for text in unreadable_times(self._header.entries)]
        if self._header is None or not (self._titled or report.header.version):
            report.missing.append("the header")
        report.missing += missing_parts(report)
        check_rows(report)
        if not report.ended:
            last = self._lines[-1].number if self._lines else 0
            report.warnings.append(Remark(last, f"no End of Report line: the text {self._ending()}"))
        return report

    def _ending(self) -> str:
        """How a text without its end line ends."""
        if self._report.return_status not in (None, 0):
            return f"stops at an error (return status {self._report.return_status})"
        return "is cut"

    def _drop_cut_line(self) -> None:
        """A last line without its line end may be cut in the middle of a figure."""
        line = self._lines[-1]
        if line.blank or noise.END_OF_REPORT in line.text or line.text.startswith("("):
            return
        words = line.text.split()
        if (
            columns.is_rule(line.text)
            or line.text.endswith(_WHOLE_ENDS)
            or not any(map(columns.is_figure, words))
        ):
            return
        self._lines[-1] = Line(line.number, "", 0)
        self._report.unread.append(Remark(line.number, f"cut in the middle: {line.words}"))

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
            self._report.ended = self._found
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
            self._report = Report(altered=self._report.altered, unread=self._report.unread)
        self._header, self._found, self._titled = HeaderReader(self._report.altered), True, True

    def _take(self, line: Line, below: Line) -> None:
        counted = not line.blank and (self._found or self._section is not None)
        self._report.lines += counted
        self._report.understood += counted
        opened = self._section_heading(line, below)
        if not self._section and not self._header and not opened:
            self._open_table(line, below)
        if opened:
            self._open(*opened)
        elif line.text.startswith("=====") and " " not in line.text:
            self._close()
        elif self._section:
            self._section.take(line, below.text)
        elif (instance := instance_of(line)) and self._report.sections:
            self._instance = instance
        elif self._header or is_header_line(line):
            self._found = True
            self._header = self._header or HeaderReader(self._report.altered)
            self._header.take(line)

    def _section_heading(self, line: Line, below: Line) -> tuple[Section, columns.Layout] | None:
        if self._report.altered:
            name = section_name(line, below)
            return (Section(name, line.number), columns.STANDARD) if name else None
        return section_heading(line, below)

    def _open(self, section: Section, layout: columns.Layout) -> None:
        self._close()
        known = section.name in _SECTIONS
        if not known and (self._report.ended or self._header is None):
            return
        self._found |= known
        section.instance = self._instance
        if self._report.altered:
            version = self._header.header().version if self._header else ""
            self._section = MarginReader(section, layout, version)
        else:
            self._section = SectionReader(section, layout)

    def _open_table(self, line: Line, below: Line) -> None:
        """An excerpt may begin with a table: its title tells the section."""
        titles = columns.heading(line.text, below.text) if columns.is_rule(below.text) else None
        name = grammar().section_of(titles.label) if titles else ""
        if name and not self._report.ended:
            self._open(Section(name, line.number), columns.STANDARD)

    def _close(self) -> None:
        if self._section:
            self._section.close()
            self._report.sections.append(self._section.section)
            self._report.warnings.extend(self._section.warnings)
            self._report.unread.extend(
                Remark(line.number, f"not understood: {line.words}") for line in self._section.unread
            )
            self._report.understood -= self._section.unknown + len(self._section.unread)
            self._section = None

    def _take_wizard(self, position: int) -> int:
        self._close()
        self._found = True
        section, after = wizard.read(self._lines, position)
        if self._report.altered:
            self._report.unread.append(Remark(section.line, "not understood: the tables of the cache wizard"))
        else:
            self._report.sections.append(section)
        return after


def section_heading(line: Line, below: Line) -> tuple[Section, columns.Layout] | None:
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
