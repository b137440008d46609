"""What a report lacks: the sections and rows that its release prints, whatever else the text holds.

The grammar says of each row when it is printed (need): always; in (the block of this name); since (this service pack);
block (if any row of its block is); if (when the count of another row is above 0); any and several (when another row is
there, or more than one of it); not (when other rows are not there).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.grammar import BUCKETS, KnownRow, grammar, release
from ase_exporter.sysmon.relations import Names, Rows, Term, terms
from ase_exporter.sysmon.structure import COUNT, Report, Section

_PROCEDURE = "sp_sysmon_"
_OF_16 = (BUCKETS, "NV Cache Management")
# No whole report of it is known: which rows it prints is not known either.
_UNKNOWN_RELEASE = "12.5"
# Tables that name the same things: every engine online, every thread pool.
_ENGINE, _POOL = re.compile(r"Engine \d+"), re.compile(r"ThreadPool : .*")
_OF_ENGINES = (
    *("Engine Busy Utilization", "Engine Utilization (Tick %)", "Average Runnable Tasks"),
    *("CPU Yields by Engine", "Task Context Switches by Engine", "Max Outstanding I/Os"),
    *("Skipped Tasks By Engine", "Asynchronous I/O's", "Total TDS Packets Received", "Total Bytes Received"),
    *("Total TDS Packets Sent", "Total Bytes Sent"),
)
_OF_THREADS = ("Thread Utilization (OS %)", "Context Switches at OS")
# Of a threaded server, these are always there, and name the pools of engines.
_OF_ENGINE_POOLS = {
    "Engine Utilization (Tick %)": "Kernel Utilization",
    "Average Runnable Tasks": "Kernel Utilization",
    "CPU Yields by Engine": "Kernel Utilization",
    "Task Context Switches by Engine": "Task Management",
}
# Memory pools of fixed sizes, and the last of them.
_BUCKET = re.compile(r"(?P<pool>.*) (?P<size>\d+)")
_BUCKET_STEP = 32
_LAST_BUCKETS = {
    "Encrypted Columns Frag": 352,
    "LFB memory pool": 640,
    "Network Buffers": 352,
    "Worker Thread Memory": 128,
}
_MIN_BUCKETS = 3
_PACK = re.compile(r"\bSP(\d+)", re.IGNORECASE)


def missing_parts(report: Report, only: str = "") -> Iterator[str]:
    """What a report of its release has and this one lacks. only: the one section that was asked for."""
    version = release(report.header.version)
    if version == _UNKNOWN_RELEASE:
        yield f"a list of what release {version} prints: whether the report is complete is not known"
    yield from _missing_sections(report, version, only)
    for section in report.sections:
        yield from _missing_rows(section, version, report.header.version)
        if section.name == BUCKETS:
            yield from _missing_buckets(section)
    yield from _missing_names(report)


def _missing_sections(report: Report, version: str, only: str) -> Iterator[str]:
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
        for name in [only] if only else expected if version else lost:
            if name not in present:
                text = f"section {name}" + (f" of instance {instance}" if instance else "")
                yield text + (f" (lost to server error {lost[name]})" if name in lost else "")


def _missing_rows(section: Section, version: str, banner: str) -> Iterator[str]:
    rows = Rows(section)
    for known, container, need, wanted in _needed(section.name, version):
        for path in rows.blocks.get(container, ()):
            there = any(
                row.path[: len(path)] == path for row in rows.by_place.get((known.path, known.label), ())
            )
            if there if need != "block" else False:
                continue
            if need == "block":
                blocks = [block for block in rows.blocks.get(known.path, ()) if block[: len(path)] == path]
                present = {row.path for row in rows.by_place.get((known.path, known.label), ())}
                lacking = [block for block in blocks if block not in present]
            else:
                lacking = [path] if _is_due(rows, known, path, need, wanted, banner) else []
            for block in lacking:
                yield f"row {' / '.join((section.name, *block, *known.path[len(block) :], known.label))}"


def _is_due(
    rows: Rows, known: KnownRow, path: Names, need: str, wanted: tuple[Term, ...], banner: str
) -> bool:
    """Whether a row must be in a block."""
    others = list(rows.of(known.path, path, wanted)) if wanted else []
    match need:
        case "always":
            return True
        case "since":
            pack = _PACK.search(banner)
            return bool(pack and int(pack[1]) >= int(wanted[0][1]))
        case "in":
            return path[-1] == wanted[0][1]
        case "if":
            return any((row.get(COUNT) or 0) > 0 for row in others)
        case "any":
            return bool(others)
        case "several":
            return len(others) > 1
        case _:
            return not others


@lru_cache(maxsize=256)
def _needed(section: str, version: str) -> list[tuple[KnownRow, Names, str, tuple[Term, ...]]]:
    """The rows that a section of a release must or may have: with the block that each is one of, and its need."""
    found = []
    for row in grammar().rows:
        if row.section == section and row.need and version in row.releases and version != _UNKNOWN_RELEASE:
            named = [at for at, part in enumerate(row.path, 1) if "*" in part or "#" in part]
            need, _, text = row.need.partition(" ")
            found.append((row, row.path[: max(named, default=0)], need, terms(text) if text else ()))
    return found


def _missing_buckets(section: Section) -> Iterator[str]:
    """Sizes of a memory pool go up in steps."""
    pools: defaultdict[str, list[int]] = defaultdict(list)
    for row in section.rows:
        match = _BUCKET.fullmatch(row.label)
        if match:
            pools[match["pool"]].append(int(match["size"]))
    first = 0 if any(0 in sizes for sizes in pools.values()) else _BUCKET_STEP
    for pool, sizes in pools.items():
        last = max(_LAST_BUCKETS.get(pool, 0), *sizes)
        steps = range(first, last + 1, _BUCKET_STEP)
        if len(sizes) >= _MIN_BUCKETS and sizes != list(steps):
            yield f"row {section.name} / {pool}: its sizes are not {steps.start} to {last}"


def _missing_names(report: Report) -> Iterator[str]:
    """Engines and thread pools that one of the tables of all of them lacks."""
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
        due = [table for table, of in _OF_ENGINE_POOLS.items() if threaded and of in there]
        for kind, tables in ((_ENGINE, _OF_ENGINES), (_POOL, _OF_THREADS), (_POOL, due)):
            found = {table: set(filter(kind.fullmatch, names[table])) for table in tables}
            everywhere = set().union(*found.values()) - idle
            for table in tables:
                lacking = sorted(everywhere - found[table]) if found[table] or table in due else ()
                yield from (f"{name} in {table}" for name in lacking)
