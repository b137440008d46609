"""The lines of a report as isql writes them: line ends, encodings, tabs and trailing blanks mean nothing."""

import codecs
import errno
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ase_exporter.untrusted.entry import one_line

MAX_LINE = 1 << 16
_BOM = "\ufeff"
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One line without tabs and trailing blanks. number: in the file, from 1."""

    number: int
    text: str

    @property
    def bare(self) -> str:
        """The text with every run of blanks made one."""
        return " ".join(self.text.split())


def numbered(lines: Iterable[str]) -> Iterator[ReportLine]:
    """Lines of a text, with their ends or without. What no report holds, such as escape sequences, is escaped."""
    for number, text in enumerate(lines, 1):
        plain = text.removeprefix(_BOM) if number == 1 else text
        yield ReportLine(number, one_line(plain.rstrip("\r\n").expandtabs(8)).rstrip())


def open_lines(file: io.BufferedReader) -> Iterator[str]:
    """The lines of a file with their ends, one at a time: UTF-16 by its byte order mark, UTF-8, or one byte a letter.

    Raises OSError for a line that no report has.
    """
    wide = file.peek(2)[:2] in _WIDE
    text = io.TextIOWrapper(file, "utf-16", errors="replace", newline="\n") if wide else None
    read = partial(text.readline if text else file.readline, MAX_LINE)
    try:
        while line := read():
            if len(line) == MAX_LINE:
                raise OSError(errno.EFBIG, f"a line has more than {MAX_LINE >> 10} KiB")
            yield line if isinstance(line, str) else _decoded(line)
    finally:
        if text:
            text.detach()


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")
