"""Reads files and text of sp_sysmon into reports, one at a time, so that memory does not grow with their number.

The reader is strict: every line of a report that is not blank is a figure, a known line, or one of `Report.unread`.
"""

import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from ase_exporter.errors import UserError
from ase_exporter.regular_files import reading
from ase_exporter.sysmon.arithmetic import check_arithmetic
from ase_exporter.sysmon.coverage import UNKNOWN_RELEASE, missing_parts
from ase_exporter.sysmon.grammar import grammar, release
from ase_exporter.sysmon.header import CLIENT, INSTANCE, RETURN_STATUS, HeaderReader, server_message
from ase_exporter.sysmon.lines import ReportLine, numbered, open_lines
from ase_exporter.sysmon.rows import RowReader
from ase_exporter.sysmon.structure import Remark, Report

STDIN = "-"
MAX_REPORT_LINES = 250_000
_TITLE = re.compile(r"(?:Sybase|SAP) Adaptive Server Enterprise System Performance Report")
_END = re.compile(r"=+ ?End of Report ?=+")


class NotAReportError(UserError):
    """The text holds no report of sp_sysmon."""


def parse(text: str, name: str = "text") -> Report:
    """The first report of a text; raises NotAReportError."""
    return next(read_reports(text.split("\n"), name))


def read_reports(lines: Iterable[str], name: str = "text") -> Iterator[Report]:
    """The reports of a text, one at a time: memory is bounded by the longest report, not by the file.

    A text without a title may hold sections, of a report that is not complete. Raises NotAReportError if there is
    nothing.
    """
    found = False
    for titled, block in _blocks(numbered(lines)):
        report = _Reader(block, titled).read()
        if titled or report.sections:
            found = True
            yield report
    if not found:
        raise NotAReportError(
            f"{name}: not an sp_sysmon report: expected the title 'Sybase Adaptive Server Enterprise System "
            "Performance Report', or a section such as 'Kernel Utilization'"
        )


def reports_of(name: str) -> Iterator[Report]:
    """The reports of one file, or of standard input; raises UserError."""
    try:
        if name == STDIN:
            yield from read_reports(open_lines(cast(io.BufferedReader, sys.stdin.buffer)), "standard input")
            return
        path = Path(name)
        # A device never ends. A FIFO does, such as that of `<(zcat ...)`.
        if path.is_char_device():
            raise UserError(f"{name}: expected a saved report, not a device")
        with reading():
            file = path.open("rb")
        with file:
            yield from read_reports(open_lines(file), name)
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror}") from error


def _blocks(lines: Iterable[ReportLine]) -> Iterator[tuple[bool, list[ReportLine]]]:
    """The lines of each report, from its title to the next one; of a text without a title all of them.

    What stands above the first title is left out. Blocks end where a report would be too long, and so does a text
    that has no title until there.
    """
    block: list[ReportLine] = []
    titled = False
    for line in lines:
        if "System Performance Report" in line.text and _TITLE.fullmatch(line.bare):
            if titled:
                yield True, block
            block, titled = [], True
        elif len(block) >= MAX_REPORT_LINES:
            break
        block.append(line)
    yield titled, block


class _Reader:
    """One pass over the lines of one report."""

    def __init__(self, lines: Sequence[ReportLine], titled: bool) -> None:
        self._lines = lines
        self._report = Report()
        self._header = HeaderReader()
        self._rows = RowReader(self._report)
        # The line below the title is a header's until the first section begins.
        self._in_header = titled

    def read(self) -> Report:
        report = self._report
        position = 1 if self._in_header else 0
        while position < len(self._lines):
            position = self._step(position)
        report.header = self._header.header()
        report.unread += self._header.unread()
        if not release(report.header.version):
            report.missing.append("the release" if report.header.version else "the header")
        elif release(report.header.version) != UNKNOWN_RELEASE:
            report.missing += self._header.missing()
        report.missing += missing_parts(report)
        check_arithmetic(report)
        if not report.ended:
            last = self._lines[-1].number if self._lines else 0
            status = report.return_status
            how = f"stops at an error (return status {status})" if status else "is cut"
            report.warnings.append(Remark(last, f"no End of Report line: the text {how}"))
        return report

    def _step(self, position: int) -> int:
        """Read the line at a position; the position after it."""
        line, report = self._lines[position], self._report
        text = line.text.strip()
        if status := RETURN_STATUS.fullmatch(text):
            report.return_status = int(status[1])
        elif report.ended:
            # What follows a report is not part of it.
            if grammar().section_of(line.text):
                report.unread.append(Remark(line.number, f"after the end of the report: {line.bare}"))
        elif CLIENT.fullmatch(text):
            pass
        elif message := server_message(self._lines, position):
            report.messages.append(message[0])
            return message[1]
        elif _END.fullmatch(line.bare):
            report.ended = True
        elif not line.text.strip(" -="):
            self._rows.take_rule()
        elif instance := INSTANCE.fullmatch(text):
            self._rows.instance, self._in_header = instance["name"], False
        elif self._in_header and not grammar().section_of(line.text):
            if not self._header.take(line):
                report.unread.append(Remark(line.number, f"no known line of the header: {line.bare}"))
        else:
            self._in_header = False
            self._rows.take(line)
        return position + 1
