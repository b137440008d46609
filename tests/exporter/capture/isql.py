"""Makes captures from pasted output of isql: result sets of monitoring tables, sp_configure and the like.

The text says neither types nor what other statements would answer. Types are guessed from the values; statements that
the exporter would send are answered from the tables that are there, without their `where`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from ase_exporter.capture.file import Capture, CaptureHeader, ColumnType, Execution, Result, Value
from ase_exporter.capture.playback import Playback, select_items
from ase_exporter.catalogue import Catalogue, load_catalogue, plan
from ase_exporter.catalogue.differences import documented_columns
from ase_exporter.catalogue.facts import COLUMNS, OPTIONS, SERVER, read_facts
from ase_exporter.catalogue.versions import parse_version

_DASHES = re.compile(r"^\s*-+(?:\s+-+)*\s*$")
_PROMPT = re.compile(r"^\s*(\d+)>\s?(.*)$")
_END = re.compile(r"^\s*$|^\s*\(\d+ rows? affected|^\s*\(return status|^\s*\d+> |^###|^={5,}|^Msg \d+")
_TABLE = re.compile(r"\bfrom\s+(?:master\.(?:dbo)?\.)?(mon\w+)", re.IGNORECASE)
_INTEGER = re.compile(r"-?\d+$")
_NUMBER = re.compile(r"-?\d+\.\d+$|-?\d*\.\d+$|-?\d+(\.\d+)?[eE][-+]?\d+$")
_DATES = ("%b %d %Y %I:%M%p", "%b %d %Y %I:%M:%S:%f%p", "%b %d %Y %I:%M:%S.%f%p", "%Y-%m-%d %H:%M:%S.%f")
# A table is recognized by at least this many of its columns, which make up this share of those pasted.
_MIN_COLUMNS, _MIN_SHARE = 3, 0.6


@dataclass(slots=True)
class Pasted:
    """One result set of a text. sql: the statement before it, '' if there is none."""

    sql: str
    names: list[str]
    widths: list[int]
    cells: list[list[str]]
    table: str = ""

    def column(self, index: int) -> tuple[ColumnType, list[Value]]:
        """A column and its values, with the type that all of them fit."""
        return guess(self.names[index], self.widths[index], [row[index] for row in self.cells])


def capture_of(text: str, ase_version: str) -> Capture:
    """A capture from pasted text."""
    found = [each for each in result_sets(text) if each.cells]
    banner = f"Adaptive Server Enterprise/{ase_version}"
    catalogue, _ = load_catalogue()
    columns = _known_columns(catalogue)
    scrapes: Counter[str] = Counter()
    statements: list[Execution] = []
    tables: defaultdict[str, list[Pasted]] = defaultdict(list)
    for number, each in enumerate(found, start=1):
        each.table = _table(each, columns)
        if each.table:
            tables[each.table].append(each)
        sql = _sql(each, number)
        scrapes[sql] += 1
        statements.append(Execution(scrapes[sql], sql, 0.0, [_result(each)]))
    count = max(scrapes.values())
    header = CaptureHeader("isql", datetime.now(UTC).isoformat(timespec="seconds"), count, 0.0, driver={})
    facts = _facts(banner, tables, found)
    capture = Capture(header, facts)
    return replace(capture, statements=[*facts, *_collectors(catalogue, capture, tables, count), *statements])


def result_sets(text: str) -> Iterator[Pasted]:
    """The result sets of a text. isql breaks wide rows over several lines, each with its own dashes."""
    lines = text.splitlines()
    sql: list[str] = []
    index = 0
    while index < len(lines):
        if prompt := _PROMPT.match(lines[index]):
            sql = [*([] if prompt[1] == "1" else sql), prompt[2]]
        height = 0
        while index + height < len(lines) and _DASHES.match(lines[index + height]):
            height += 1
        if not height or index < height:
            index += 1
            continue
        layout = [_slices(line) for line in lines[index : index + height]]
        names = _cells(lines[index - height : index], layout)
        widths = [len(dashes) for dashes in _cells(lines[index : index + height], layout)]
        index += height
        cells: list[list[str]] = []
        while index + height <= len(lines) and not any(map(_END.match, lines[index : index + height])):
            row = _cells(lines[index : index + height], layout)
            index += height
            # Below dashes come totals.
            if set("".join(row)) == {"-"}:
                break
            cells.append(row)
        if all(names):
            yield Pasted(" ".join(sql).replace(" go", " ").strip(), names, widths, cells)


def guess(name: str, width: int, cells: Sequence[str]) -> tuple[ColumnType, list[Value]]:
    """The type that all values of a column fit: whole numbers, numbers, dates, else text. NULL fits all."""
    present = [cell for cell in cells if cell != "NULL"]
    nullable = len(present) < len(cells)
    if present and all(map(_INTEGER.match, present)):
        largest = max(abs(int(cell)) for cell in present)
        if largest < 1 << 63:
            size = 10 if largest < 1 << 31 else 19
            return ColumnType(name, "int", size, 0, nullable), [
                None if c == "NULL" else int(c) for c in cells
            ]
        digits = min(38, max(map(len, present)))
        return ColumnType(name, "Decimal", digits, 0, nullable), [
            None if c == "NULL" else Decimal(c) for c in cells
        ]
    if present and all(_INTEGER.match(cell) or _NUMBER.match(cell) for cell in present):
        return ColumnType(name, "float", 53, 0, nullable), [None if c == "NULL" else float(c) for c in cells]
    dates = [_date(cell) for cell in cells]
    if present and all(date is not None or cell == "NULL" for date, cell in zip(dates, cells, strict=True)):
        return ColumnType(name, "datetime", 23, 3, nullable), list(dates)
    size = max([width, 1, *map(len, present)])
    return ColumnType(name, "str", size, 0, nullable), [None if c == "NULL" else c for c in cells]


def _date(cell: str) -> datetime | None:
    text = " ".join(cell.split())
    for form in _DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _slices(dashes: str) -> list[tuple[int, int | None]]:
    """Where columns begin and end: at the dashes; a column reaches to the next one."""
    starts = [match.start() for match in re.finditer(r"-+", dashes)]
    return list(zip(starts, [*starts[1:], None], strict=True))


def _cells(lines: Sequence[str], layout: Sequence[Sequence[tuple[int, int | None]]]) -> list[str]:
    return [line[start:end].strip() for line, cuts in zip(lines, layout, strict=True) for start, end in cuts]


def _known_columns(catalogue: Catalogue) -> dict[str, tuple[str, frozenset[str]]]:
    """The columns by table, both in lower case, with the table's name."""
    known: dict[str, set[str]] = {table: set(columns) for table, columns in documented_columns().items()}
    names = {table: table for table in known}
    for collector in catalogue.collectors.values():
        if collector.table:
            names[collector.table.lower()] = collector.table
            known.setdefault(collector.table.lower(), set()).update(map(str.lower, collector.all_columns()))
    return {table: (names[table], frozenset(columns)) for table, columns in known.items()}


def _table(pasted: Pasted, known: Mapping[str, tuple[str, frozenset[str]]]) -> str:
    """The monitoring table that a result set shows, by its statement or its columns; '' if none fits."""
    if (select := _TABLE.search(pasted.sql)) and select[1].lower() in known:
        return known[select[1].lower()][0]
    names = {name.lower() for name in pasted.names}
    best = max(known, key=lambda table: (len(names & known[table][1]), -len(known[table][1])))
    shared = len(names & known[best][1])
    return known[best][0] if shared >= _MIN_COLUMNS and shared >= _MIN_SHARE * len(names) else ""


def _sql(pasted: Pasted, number: int) -> str:
    if pasted.table:
        return f"select {', '.join(pasted.names)} from master..{pasted.table}"
    # The text may hold literals, so only a procedure's name is kept.
    procedure = re.match(r"(?:exec\s+)?(sp_\w+)", pasted.sql)
    if "Parameter Name" in pasted.names:
        return "exec sp_configure"
    return f"exec {procedure[1]}" if procedure else f"exec pasted_result_{number}"


def _result(pasted: Pasted) -> Result:
    columns = [pasted.column(index) for index in range(len(pasted.names))]
    return Result((), [column for column, _ in columns], list(zip(*(v for _, v in columns), strict=True)))


def _facts(banner: str, tables: Mapping[str, Sequence[Pasted]], found: Sequence[Pasted]) -> list[Execution]:
    text, number = ("str", 255, 0, True), ("int", 10, 0, True)
    server = [ColumnType("", *text), ColumnType("", *text), ColumnType("", *number)]
    facts = [Execution(1, SERVER, 0.0, [Result((), server, [(banner, "PASTED", 2048)])])]
    role = [Result((), [ColumnType("", *number)], [(1,)])]
    facts.append(Execution(1, "select proc_role('mon_role')", 0.0, role))
    options = [
        (row[0], int(row[pasted.names.index("Run Value")]))
        for pasted in found
        if {"Parameter Name", "Run Value"} <= set(pasted.names)
        for row in pasted.cells
        if _INTEGER.match(row[pasted.names.index("Run Value")])
    ]
    columns = [ColumnType("name", *text), ColumnType("value", *number)]
    facts.append(Execution(1, OPTIONS, 0.0, [Result((), columns, list(dict(options).items()))]))
    kinds = {"str": "varchar", "float": "float", "Decimal": "numeric", "datetime": "datetime"}
    rows = [
        (table, column.name, kinds.get(column.type, "int" if column.size == 10 else "bigint"))
        for table, pasted in tables.items()
        for column in (pasted[0].column(index)[0] for index in range(len(pasted[0].names)))
    ]
    language = " where Language = 'en_US'" if parse_version(banner) >= parse_version("15.7") else ""
    columns = [ColumnType(name, *text) for name in ("TableName", "ColumnName", "TypeName")]
    facts.append(Execution(1, COLUMNS + language, 0.0, [Result((), columns, rows)]))
    return facts


def _collectors(
    catalogue: Catalogue, capture: Capture, tables: Mapping[str, Sequence[Pasted]], scrapes: int
) -> Iterator[Execution]:
    """What the exporter would send for the pasted tables, with the rows that it would get."""
    facts = read_facts(Playback(capture).query)
    for planned in plan(catalogue, facts, dict.fromkeys(catalogue.collectors, True)):
        table = catalogue.collectors[planned.name].table
        if not planned.available or table is None or table not in tables:
            continue
        for scrape, pasted in enumerate(tables[table][:scrapes], start=1):
            if result := _selected(planned.statements[0], pasted):
                yield Execution(scrape, planned.statements[0], 0.0, [result])


def _selected(sql: str, pasted: Pasted) -> Result | None:
    """The columns that a select names; those summed are summed by the others. None if the text lacks one."""
    items = sql.removeprefix("select ").partition(" from ")[0]
    wanted = [item.partition(" = ") for item in select_items(items)]
    names = {name.lower(): index for index, name in enumerate(pasted.names)}
    if not all(name.lower() in names for name, _, _ in wanted):
        return None
    columns = [pasted.column(names[name.lower()]) for name, _, _ in wanted]
    rows: list[tuple[Value, ...]] = list(zip(*(values for _, values in columns), strict=True))
    summed = [index for index, (_, _, expression) in enumerate(wanted) if expression.startswith("sum(")]
    if summed:
        rows = _grouped(rows, summed)
    return Result((), [column for column, _ in columns], rows)


def _grouped(rows: Sequence[tuple[Value, ...]], summed: Sequence[int]) -> list[tuple[Value, ...]]:
    groups: dict[tuple[Value, ...], list[Value]] = {}
    for row in rows:
        key = tuple(value for index, value in enumerate(row) if index not in summed)
        group = groups.setdefault(key, [0 if index in summed else value for index, value in enumerate(row)])
        for index in summed:
            group[index] = group[index] + (row[index] or 0)  # type: ignore[operator]
    return [tuple(group) for group in groups.values()]
