"""The tool sysmon_report: saved reports below one directory, which no path and no symbolic link leaves."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ase_exporter.advise.sysmon_reports import advice_for
from ase_exporter.compare.sysmon_findings import configuration_changes, obstacles, pair_findings
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import FileOf, ReportOf, SysmonAnswer
from ase_exporter.mcp_server.privacy import public_text
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.sysmon.difference import changes
from ase_exporter.sysmon.report import NotAReportError, read_reports
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.summary import summary, version_of
from ase_exporter.sysmon.text import open_lines

MAX_FILE = 16 * 2**20
# Of a file, unpacked.
MAX_TEXT = 64 * 2**20
MAX_FILES = 200
MAX_DEPTH = 4
MAX_REPORTS = 5
MAX_DIFFERENCES = 25
_GZIP = b"\x1f\x8b"
# No symbolic link is followed, and opening a pipe does not wait.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def sysmon_report(sources: Sources, arguments: inputs.SysmonReport) -> SysmonAnswer:
    """Headlines and advice of a saved sp_sysmon report, and what differs from an earlier one."""
    if sources.reports is None:
        raise UserError("no reports: ase-exporter mcp was started without --sysmon-dir")
    if not arguments.path:
        if arguments.against:
            raise UserError("against: expected path with it")
        files = list(_files(sources.reports, ""))
        notes = ["more files are left out"] if len(files) > MAX_FILES else []
        return SysmonAnswer.of(files=files[:MAX_FILES], reports=[], findings=[], differences=[], notes=notes)
    reports, notes = _reports(sources.reports, arguments.path)
    if not arguments.against:
        listed = [_report(arguments.path, each) for each in reports]
        return SysmonAnswer.of(files=[], reports=listed, findings=[], differences=[], notes=notes)
    earlier, more = _reports(sources.reports, arguments.against)
    return SysmonAnswer.of(
        files=[],
        reports=[_report(arguments.path, reports[0]), _report(arguments.against, earlier[0])],
        findings=[*pair_findings(earlier[:1], reports[:1]), *configuration_changes(earlier[:1], reports[:1])],
        differences=changes(earlier[:1], reports[:1])[:MAX_DIFFERENCES],
        notes=[*notes, *more, *obstacles(earlier[:1], reports[:1])],
    )


def read_below(directory: Path, path: str) -> bytes:
    """The content of a file below a directory, unpacked if it is gzipped.

    Each part of the path is opened in the one before it, so that nothing that changes meanwhile leads elsewhere.
    Raises UserError.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise UserError("path: expected a file below the directory of reports, such as PROD1/monday.txt")
    try:
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=place)
                os.close(place)
                place = inner
            file = os.open(parts[-1], _OPEN, dir_fd=place)
        finally:
            os.close(place)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise UserError(f"path: {public_text(path)}: expected a file")
            data = opened.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"path: {public_text(path)}: cannot be read: {reason or 'no such name'}") from None
    if len(data) > MAX_FILE:
        raise UserError(f"path: {public_text(path)}: expected at most {MAX_FILE:,} bytes")
    return _unpacked(path, data)


def _unpacked(path: str, data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_TEXT + 1)
    except (OSError, EOFError, zlib.error):
        raise UserError(f"path: {public_text(path)}: damaged gzip file") from None
    if len(text) > MAX_TEXT or text.startswith(_GZIP):
        raise UserError(
            f"path: {public_text(path)}: expected at most {MAX_TEXT:,} bytes unpacked, packed once"
        )
    return text


def _reports(directory: Path, path: str) -> tuple[list[Report], list[str]]:
    """The first reports of a file, and whether there are more."""
    found: list[Report] = []
    try:
        for report in read_reports(open_lines(io.BytesIO(read_below(directory, path))), public_text(path)):
            if len(found) == MAX_REPORTS:
                return found, [f"{public_text(path)}: only its first {MAX_REPORTS} reports are shown"]
            found.append(report)
    except NotAReportError as error:
        raise UserError(f"path: {error}") from None
    return found, []


def _files(directory: Path, below: str, depth: int = 0) -> Iterator[FileOf]:
    """The files below a directory, at most MAX_FILES + 1; without hidden ones, symbolic links and odd names."""
    try:
        entries = sorted(os.scandir(directory / below), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"--sysmon-dir: cannot be read: {error.strerror}") from None
    count = 0
    for entry in entries:
        if entry.name.startswith(".") or not entry.name.isprintable() or count > MAX_FILES:
            continue
        path = f"{below}{entry.name}"
        if entry.is_file(follow_symlinks=False):
            count += 1
            known = entry.stat(follow_symlinks=False)
            yield FileOf.of(path=path, bytes=known.st_size, modified=known.st_mtime)
        elif entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
            for file in _files(directory, f"{path}/", depth + 1):
                count += 1
                yield file


def _report(path: str, report: Report) -> ReportOf:
    ended = report.header.ended
    return ReportOf.of(
        path=path,
        server=report.header.server,
        version=version_of(report),
        ended=ended.isoformat() if ended else None,
        complete=report.complete,
        headlines=summary(report),
        recommendations=[
            f"{section.name}: {remark.text}"
            for section in report.sections
            for remark in section.recommendations
        ],
        advice=advice_for(report),
    )
