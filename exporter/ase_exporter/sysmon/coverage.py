"""What a report lacks: known sections and rows that are not there, and rows in a place where they cannot be."""

from collections import defaultdict
from collections.abc import Iterator

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.grammar import FIRST_RELEASE, grammar, path_pattern, pattern, release
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


def missing_parts(report: Report) -> list[str]:
    """Sections and rows that a report of its version has and this one lacks.

    A report of one section alone (`sp_sysmon interval, kernel`) lacks no section.
    """
    version = release(report.header.version)
    known = version is not None and version >= FIRST_RELEASE
    found = [*_missing_sections(report, known)]
    for section in report.sections if known else ():
        found += _missing_rows(section)
    return found


def check_rows(report: Report) -> None:
    """Move rows that cannot be right to `unread`.

    These are rows with an incomplete label (its second line is lost), rows that are known in another section (the
    lines between are lost), and all unknown rows of an altered text.
    """
    for section in report.sections:
        kept = []
        for row in section.rows:
            if _is_right(section, row, report.altered):
                kept.append(row)
            else:
                report.unread.append(Remark(row.line, f"in a place where it is not known: {row.label}"))
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


def _is_right(section: Section, row: Row, altered: bool) -> bool:
    known = grammar()
    measures = known.measures(section.name, row.path, row.label)
    if measures is not None:
        return not altered or {cell.measure for cell in row.cells} <= measures
    if altered or known.is_elsewhere(row.path, row.label):
        return False
    texts = known.lines(section.name, row.label)
    return not texts or any(line.kind != "row" or not line.label for line in texts)
