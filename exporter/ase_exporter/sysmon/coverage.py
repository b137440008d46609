"""What a report lacks: known sections and rows that are not there, and rows in a place where they cannot be."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.grammar import (
    FIRST_RELEASE,
    grammar,
    nearest_release,
    path_pattern,
    pattern,
    release,
)
from ase_exporter.sysmon.structure import Remark, Report, Row, Section

_PROCEDURE = "sp_sysmon_"
# Printed by every version; the others came with 11.9 to 12.5.
_CORE = [
    "kernel",
    "taskmgmt",
    "xactsum",
    "xactmgmt",
    "indexmgmt",
    "locks",
    "dcache",
    "pcache",
    "memory",
    "recovery",
    "diskio",
    "netio",
]
_MIN_SECTIONS = 2
# Tables that name the same things: every engine online, every thread pool. They are told by a sub-heading or a label.
_ENGINES = re.compile(r"Engine \d+")
# Columns that have no title of their own.
_UNTITLED = re.compile(r"percent(_\d+)?|column_\d+|value")
_POOLS = re.compile(r"ThreadPool : .*")
_SAME_IN_ALL = (
    (
        _ENGINES,
        (
            ("Kernel Utilization", "Engine Busy Utilization"),
            ("Kernel Utilization", "Engine Utilization (Tick %)"),
            ("Kernel Utilization", "Average Runnable Tasks"),
            ("Kernel Utilization", "CPU Yields by Engine"),
            ("Task Management", "Task Context Switches by Engine"),
        ),
    ),
    (
        _POOLS,
        (
            ("Kernel Utilization", "Thread Utilization (OS %)"),
            ("Kernel Utilization", "Context Switches at OS"),
        ),
    ),
)


def missing_parts(report: Report) -> list[str]:
    """Sections and rows that a report of its version has and this one lacks.

    A report of one section alone (`sp_sysmon interval, kernel`) lacks no section.
    """
    version = release(report.header.version)
    known = version is not None and version >= FIRST_RELEASE
    nearest = nearest_release(report.header.version)
    found = [*_missing_sections(report, known)]
    for section in report.sections if known else ():
        found += _missing_headings(section, nearest)
        found += _missing_rows(section)
    return [*found, *_missing_names(report)]


def check_rows(report: Report) -> None:
    """Move rows that cannot be right to `unread`.

    These are rows with an incomplete label (its second line is lost), rows that are known in another place or with
    other columns, rows of a table that are there twice (the lines between are lost), and all unknown rows of an
    altered text. A row of unknown sub-headings is kept: it may be of a version that we have not seen.
    """
    version = report.header.version
    old = (release(version) or FIRST_RELEASE) < FIRST_RELEASE
    nearest = None if old else nearest_release(version)
    for section in report.sections:
        seen: dict[tuple[tuple[str, ...], str], int] = {}
        kept: list[Row] = []
        above = None
        for row in section.rows:
            first = seen.setdefault((row.path, row.label), row.line)
            if above and _is_repeated(above, row):
                first = row.line
            above = row
            if not _is_right(section, row, nearest, report.altered):
                report.unread.append(Remark(row.line, f"in a place where it is not known: {row.label}"))
            elif first != row.line:
                report.unread.append(Remark(row.line, f"is there twice, first in line {first}: {row.label}"))
            else:
                kept.append(row)
        section.rows[:] = kept


def _missing_sections(report: Report, known: bool) -> Iterator[str]:
    lost = {
        SECTION_KEYWORDS[keyword]: message.number
        for message in report.messages
        if (keyword := message.procedure.removeprefix(_PROCEDURE)) in SECTION_KEYWORDS
    }
    for instance in dict.fromkeys(section.instance for section in report.sections):
        present = {section.name for section in report.sections if section.instance == instance}
        if len(present & set(SECTION_KEYWORDS.values())) < _MIN_SECTIONS and not lost:
            continue
        for keyword in SECTION_KEYWORDS if known else _CORE:
            name = SECTION_KEYWORDS[keyword]
            if name not in present:
                text = f"section {name}" + (f" of instance {instance}" if instance else "")
                yield text + (f" (lost to server error {lost[name]})" if name in lost else "")


def _missing_rows(section: Section) -> Iterator[str]:
    required = grammar().required[section.name]
    blocks: defaultdict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
    for row in section.rows:
        blocks[row.path].add((path_pattern(row.path), pattern(row.label)))
    everything = set().union(*blocks.values())
    for (path, label), scope in required.items():
        name = " / ".join(part for part in (section.name, path, label) if part)
        if scope == "section" and (path, label) not in everything and section.rows:
            yield f"row {name}"
        elif scope == "block":
            for rows in blocks.values():
                siblings = {row for row in rows if row[0] == path and required.get(row) == "block"}
                if siblings and (path, label) not in rows:
                    yield f"row {name}"


def _is_repeated(above: Row, row: Row) -> bool:
    """Whether a row repeats the one above, as sp_sysmon prints the total of an idle device."""
    same = (above.path, above.label) == (row.path, row.label)
    return same and all(above.get(cell.measure) in (None, cell.value) for cell in row.cells)


def _missing_headings(section: Section, release: str) -> Iterator[str]:
    present = {pattern(remark.text) for remark in section.remarks}
    for row in section.rows:
        present |= {pattern(part) for part in row.path} | set(path_pattern(row.path).split(" / "))
    for heading, releases in grammar().headings[section.name].items():
        if section.rows and release in releases and heading not in present:
            yield f"heading {section.name} / {heading}"


def _missing_names(report: Report) -> Iterator[str]:
    """Engines and thread pools that one of the tables of all of them lacks."""
    for kind, tables in _SAME_IN_ALL:
        names: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for section in report.sections:
            for row in section.rows:
                if row.path and (section.name, row.path[0]) in tables:
                    key = (section.instance, section.name, row.path[0])
                    names[key] |= set(filter(kind.fullmatch, (*row.path, row.label)))
        # An idle pool has a remark behind its name.
        idle = {remark.text.rpartition(" : ")[0] for section in report.sections for remark in section.remarks}
        for (instance, section_name, table), found in names.items():
            everywhere = set().union(*(other for key, other in names.items() if key[0] == instance))
            for name in sorted(everywhere - found - idle) if found else ():
                yield f"{name} in {section_name} / {table}"


def _is_right(section: Section, row: Row, nearest: str | None, altered: bool) -> bool:
    """nearest: the release that its report is of, None before those of the grammar. altered: as the report's."""
    known = grammar()
    measures = known.measures(section.name, row.path, row.label)
    found = {cell.measure for cell in row.cells if altered or not _UNTITLED.fullmatch(cell.measure)}
    if nearest is not None and known.is_misplaced(section.name, row.path, row.label, nearest):
        return False
    if measures is not None:
        return found <= measures if altered else found <= measures | known.columns(section.name, row.path)
    if altered or known.is_elsewhere(row.path, row.label):
        return False
    texts = known.lines(section.name, row.label)
    return not texts or any(line.kind != "row" or not line.label for line in texts)
