"""Saved reports by file, folder and pattern; read one at a time, so that memory does not grow with their number."""

import glob
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ase_exporter.errors import UserError
from ase_exporter.sysmon.report import NotAReportError, read_reports
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.text import open_lines

STDIN = "-"


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
