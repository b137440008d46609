"""What a report lacks: the sections and rows that its release prints, whatever else the text holds.

The grammar says of each row when it is printed (need): always; in (the block of this name); since (this service pack);
block (if any row of its block is); if (when the count of another row is above 0); any and several (when another row is
there, or more than one of it); not (when other rows are not there).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.grammar import BUCKETS, KnownRow, Names, Place, grammar, has_names, place, release
from ase_exporter.sysmon.structure import COUNT, Report, ReportRow, ReportSection

_PROCEDURE = "sp_sysmon_"
# The section names that sp_sysmon accepts (message 18534) and the titles that it prints.
SECTION_KEYWORDS = dict(
    line.split(",") for line in Path(__file__).with_name("sections.csv").read_text().splitlines()
)
_OF_16 = (BUCKETS, "NV Cache Management")
# No whole report of it is known: which rows it prints is not known either.
UNKNOWN_RELEASE = "12.5"
_ENGINE, _POOL = re.compile(r"Engine \d+"), re.compile(r"ThreadPool : .*")
_BUCKET = re.compile(r"(?P<pool>.*) (?P<size>\d+)")
_BUCKET_STEP = 32
_MIN_BUCKETS = 3
_PACK = re.compile(r"\bSP(\d+)")


class _Rows:
    """The rows of one section by their place in the grammar, and its blocks."""

    def __init__(self, section: ReportSection) -> None:
        self.by_place: defaultdict[Place, list[ReportRow]] = defaultdict(list)
        self.blocks: defaultdict[Names, dict[Names, None]] = defaultdict(dict)
        for row in section.rows:
            path, label = place(section.name, row.path, row.label)
            self.by_place[path, label].append(row)
            for depth in range(len(path) + 1):
                self.blocks[path[:depth]][row.path[:depth]] = None

    def of(self, known: KnownRow, path: Names) -> Iterator[ReportRow]:
        """The rows that a row's need is about, below the same names as a path, as far as their places share its own."""
        for term, label in known.wanted:
            shared = 0
            while shared < min(len(path), len(term)) and known.path[shared] == term[shared]:
                shared += 1
            yield from (row for row in self.by_place[term, label] if row.path[:shared] == path[:shared])


def missing_parts(report: Report) -> Iterator[str]:
    """What a report of its release has and this one lacks."""
    version = release(report.header.version)
    if version == UNKNOWN_RELEASE:
        yield f"a list of what release {version} prints: whether the report is complete is not known"
    yield from _missing_sections(report, version)
    for section in report.sections:
        if version != UNKNOWN_RELEASE:
            yield from _missing_rows(section, version, report.header.version)
        if section.name == BUCKETS:
            yield from _missing_buckets(section)
    yield from _missing_names(report)


def _missing_sections(report: Report, version: str) -> Iterator[str]:
    lost = {
        SECTION_KEYWORDS[keyword]: message.number
        for message in report.messages
        if (keyword := message.procedure.removeprefix(_PROCEDURE)) in SECTION_KEYWORDS
    }
    expected = [*SECTION_KEYWORDS.values(), *(_OF_16 if version == "16.0" else ())]
    for instance in dict.fromkeys(section.instance for section in report.sections) or [""]:
        present = {
            one.name
            for one in report.sections
            if one.instance == instance and (one.rows or one.name == BUCKETS)
        }
        for name in expected if version else lost:
            if name not in present:
                text = f"section {name}" + (f" of instance {instance}" if instance else "")
                yield text + (f" (lost to server error {lost[name]})" if name in lost else "")


def _missing_rows(section: ReportSection, version: str, banner: str) -> Iterator[str]:
    rows = _Rows(section)
    for known in grammar().rows:
        if known.section != section.name or not known.need or version not in known.releases:
            continue
        # The block that the row is one of.
        named = max((at for at, part in enumerate(known.path, 1) if has_names(part)), default=0)
        block = known.path if known.need == "block" else known.path[:named]
        there = [row.path for row in rows.by_place.get((known.path, known.label), ())]
        for path in rows.blocks.get(block, ()):
            lacks = not any(other[: len(path)] == path for other in there)
            if lacks and _is_due(rows, known, path, banner):
                yield f"row {' / '.join((section.name, *path, *known.path[len(path) :], known.label))}"


def _is_due(rows: _Rows, known: KnownRow, path: Names, banner: str) -> bool:
    """Whether a row must be in a block."""
    others = list(rows.of(known, path))
    match known.need:
        case "always" | "block":
            return True
        case "since":
            pack = _PACK.search(banner)
            return bool(pack and int(pack[1]) >= int(known.wanted[0][1]))
        case "in":
            return path[-1] == known.wanted[0][1]
        case "if":
            return any((row.get(COUNT) or 0) > 0 for row in others)
        case "any":
            return bool(others)
        case "several":
            return len(others) > 1
        case _:
            return not others


@cache
def _data() -> dict[str, Any]:
    """What coverage.yaml holds."""
    loaded: dict[str, Any] = load_yaml(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return loaded


def _missing_buckets(section: ReportSection) -> Iterator[str]:
    """Sizes of a memory pool go up in steps to the last one; where one pool has them all, so have the others."""
    pools: defaultdict[str, list[int]] = defaultdict(list)
    for row in section.rows:
        match = _BUCKET.fullmatch(row.label)
        if match:
            pools[match["pool"]].append(int(match["size"]))
    if max(map(len, pools.values()), default=0) < _MIN_BUCKETS:
        return
    first = 0 if any(0 in sizes for sizes in pools.values()) else _BUCKET_STEP
    late = _data()["late_buckets"] if first else ()
    due = [pool for pool in _data()["last_buckets"] if pool not in late]
    for pool in dict.fromkeys((*due, *pools)):
        steps = range(first, max(_data()["last_buckets"].get(pool, 0), *pools[pool], 0) + 1, _BUCKET_STEP)
        if pools[pool] != list(steps):
            yield f"row {section.name} / {pool}: its sizes are not {steps.start} to {steps[-1]}"


def _missing_names(report: Report) -> Iterator[str]:
    """Engines and thread pools that one of the tables of all of them lacks (coverage.yaml)."""
    idle = {remark.text.rpartition(" : ")[0] for section in report.sections for remark in section.remarks}
    for instance in dict.fromkeys(section.instance for section in report.sections):
        sections = [section for section in report.sections if section.instance == instance]
        names: defaultdict[str, set[str]] = defaultdict(set)
        for section in sections:
            for row in section.rows:
                for table in row.path:
                    names[table].update(row.path, [row.label])
        threaded = any(map(_POOL.fullmatch, names))
        there = {section.name for section in sections}
        data = _data()
        due = [table for table, of in data["of_engine_pools"].items() if threaded and of in there]
        for kind, tables in ((_ENGINE, data["of_engines"]), (_POOL, data["of_pools"]), (_POOL, due)):
            found = {table: set(filter(kind.fullmatch, names[table])) for table in tables}
            everywhere = set().union(*found.values()) - idle
            for table in tables:
                lacking = sorted(everywhere - found[table]) if found[table] or table in due else ()
                yield from (f"{name} in {table}" for name in lacking)
