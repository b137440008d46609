"""Reads files and text of sp_sysmon into reports: every version from 12.5 to 16.1, whole, cut short or damaged.

Reports are read one at a time, so that memory does not grow with their number.
"""

import glob
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ase_exporter.errors import UserError
from ase_exporter.sysmon.coverage import missing_parts
from ase_exporter.sysmon.grammar import release
from ase_exporter.sysmon.header import (
    HeaderReader,
    instance_of,
    is_chatter,
    is_header_line,
    return_status,
    server_message,
)
from ase_exporter.sysmon.lines import TITLE, Line, clean, is_title, raw_lines
from ase_exporter.sysmon.proof import prove
from ase_exporter.sysmon.recognition import Recogniser, numbers_in
from ase_exporter.sysmon.structure import Remark, Report
from ase_exporter.sysmon.text import open_lines, unwrapped

STDIN = "-"
MAX_REPORT_LINES = 250_000
_END = re.compile(r"end of report", re.IGNORECASE)
# A title without a header below it is the running title of a printed page.
_HEADER_WITHIN = 12


class NotAReportError(UserError):
    """The text holds no trace of sp_sysmon."""


def parse(text: str, name: str = "text", only: str = "") -> Report:
    """The first report of a text; raises NotAReportError. only: the one section that was asked for, by its title."""
    return next(read_reports(raw_lines(text), name, only))


def read_reports(lines: Iterable[str], name: str = "text", only: str = "") -> Iterator[Report]:
    """The reports of raw lines, one at a time: memory is bounded by the longest report, not by the file.

    Raises NotAReportError if there is none.
    """
    found = False
    for block in _blocks(unwrapped(lines)):
        report = _Reader(block).read(only)
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


def expand(names: Sequence[str]) -> list[str]:
    """The files meant: a folder stands for all files below it, a pattern for those that match, '-' for stdin.

    Raises UserError for a pattern or a folder without a file.
    """
    found: list[str] = []
    for name in names:
        path = Path(name)
        if name == STDIN or path.is_file() or not (path.is_dir() or glob.has_magic(name)):
            found.append(name)
            continue
        paths = path.rglob("*") if path.is_dir() else map(Path, glob.glob(name, recursive=True))  # noqa: PTH207
        files = sorted(str(file) for file in paths if file.is_file() and not file.name.startswith("."))
        if not files:
            raise UserError(f"{name}: no file found: expected saved reports")
        found += files
    return list(dict.fromkeys(found))


def reports_of(name: str) -> Iterator[Report]:
    """The reports of one file, or of standard input; raises UserError."""
    try:
        if name == STDIN:
            yield from read_reports(open_lines(sys.stdin.buffer), "standard input")
            return
        path = Path(name)
        # A device never ends. A FIFO does, such as that of `<(zcat ...)`.
        if path.is_char_device():
            raise UserError(f"{name}: expected a saved report, not a device")
        with path.open("rb") as file:
            yield from read_reports(open_lines(file), name)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{name}: cannot be read: {reason}") from error


def read_files(names: Iterable[str], skipped: list[tuple[str, str]]) -> Iterator[tuple[str, Report]]:
    """The reports of many files with the file's name; bad files are passed over, and noted with the reason."""
    for name in names:
        try:
            for report in reports_of(name):
                yield name, report
        except NotAReportError:
            skipped.append((name, "not an sp_sysmon report"))
        except UserError as error:
            skipped.append((name, str(error).removeprefix(f"{name}: ")))


def _blocks(lines: Iterable[str]) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each report: a new one starts at each title, or where one would be too long."""
    block: list[tuple[int, str]] = []
    titled = -1
    for number, line in enumerate(lines, 1):
        if titled >= 0 and len(block) - titled <= _HEADER_WITHIN and "er" in line and _KEY.search(line):
            if titled:
                yield block[:titled]
                block = block[titled:]
            titled = -1
        if is_title(line):
            titled = len(block)
        if len(block) >= MAX_REPORT_LINES:
            yield block
            block, titled = [], -1
        block.append((number, line))
    yield block


_KEY = re.compile(r"Server Version|Run Date|Server Name", re.IGNORECASE)


class _Reader:
    """One pass over the lines of one report."""

    def __init__(self, block: list[tuple[int, str]]) -> None:
        self._lines = clean(block)
        self._cut = bool(block and block[-1][1])
        self._report = Report()
        self._header = HeaderReader()
        self._rows = Recogniser(self._report)
        self._titled = False

    def read(self, only: str) -> Report | None:
        """The report, or None where these lines hold none."""
        report = self._report
        if self._cut:
            self._drop_cut_line()
        position = 0
        while position < len(self._lines):
            position = self._step(position)
        if not (self._titled or self._header.entries or any(section.rows for section in report.sections)):
            return None
        self._rows.finish()
        report.header = self._header.header()
        report.warnings += [Remark(0, text) for text in self._header.unreadable_times()]
        for line, key in self._header.conflicts:
            report.contradictions.append(Remark(line, f"a second {key}: the text holds parts of two reports"))
        if not release(report.header.version):
            report.missing.append("the release" if report.header.version else "the header")
        report.missing += missing_parts(report, only)
        prove(report)
        if not report.ended:
            last = self._lines[-1].number if self._lines else 0
            status = report.return_status
            how = f"stops at an error (return status {status})" if status else "is cut"
            report.warnings.append(Remark(last, f"no End of Report line: the text {how}"))
        return report

    def _drop_cut_line(self) -> None:
        """A last line without its line end may be cut in the middle of a figure."""
        line = self._lines[-1]
        if _END.search(line.text) or not re.search(r"\d$", line.text) or line.text.startswith("("):
            return
        self._lines[-1] = Line(line.number, "")
        self._report.lost += numbers_in(line.text)
        self._report.unplaced.append(Remark(line.number, f"cut in the middle: {line.words}"))

    def _step(self, position: int) -> int:
        """Read the line at a position; the position after it."""
        line = self._lines[position]
        report = self._report
        if not line.text.strip(" -="):
            return position + 1
        message = server_message(self._lines, position)
        if message:
            report.messages.append(message[0])
            read = self._lines[position : message[1]]
            report.discarded += sum(numbers_in(one.text) for one in read)
            return message[1]
        status = return_status(line)
        if status is not None:
            report.return_status = status
        elif is_title(line.text):
            self._titled = True
        elif not report.sections and instance_of(line) == "" and self._header.take(line, True):
            pass
        elif _END.search(line.text):
            report.ended = self._titled or bool(report.sections)
        elif report.sections and (instance := instance_of(line)):
            self._rows.instance = instance
        elif is_header_line(line.text) and not is_chatter(line):
            self._header.take(line, False)
        elif not is_chatter(line):
            self._rows.take(line)
            return position + 1
        report.discarded += numbers_in(line.text)
        return position + 1
