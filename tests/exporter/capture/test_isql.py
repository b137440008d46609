"""The collectors read the published output of a real server, which lies outside the project."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Self

import pytest
from tests.paths import SHARED

from ase_exporter.ase.connection import DatabaseError, Row
from ase_exporter.capture.playback import select_items
from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.facts import COLUMNS, OPTIONS, SERVER
from ase_exporter.checks.target_check import TargetCheck
from ase_exporter.config import Auth, Config, Target

FILE = SHARED / "ase" / "real-mda-output-16.0sp04pl03-tpcc.txt"
DASHES = re.compile(r"^\s*-+(?:\s+-+)*\s*$")
END = re.compile(r"^\s*$|^\s*\(\d+ rows? affected|^###")
SELECT = re.compile(r"select (.*) from master\.\.(mon\w+)")
DATE = "%b %d %Y %I:%M%p"
NOT_PASTED = "not pasted"
KINDS: dict[type, str] = {str: "varchar", float: "float", datetime: "datetime"}


class Pasted(list[tuple[str, ...]]):
    """The rows of one result set. names: of its columns, in lower case."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [name.lower() for name in names]


def result_sets(lines: Sequence[str]) -> Iterator[Pasted]:
    """The result sets of isql whose rows take one line each. A column reaches to the dashes of the next one."""
    for index, line in enumerate(lines):
        if not DASHES.match(line):
            continue
        starts = [match.start() for match in re.finditer("-+", line)]
        cuts = [slice(*each) for each in zip(starts, [*starts[1:], None], strict=True)]
        result = Pasted([lines[index - 1][cut].strip() for cut in cuts])
        for row in lines[index + 1 :]:
            if END.match(row):
                break
            result.append(tuple(row[cut].strip() for cut in cuts))
        yield result


def value(cell: str) -> Any:
    """A cell as the driver would give it."""
    for kind in (int, float, lambda text: datetime.strptime(" ".join(text.split()), DATE)):
        try:
            return kind(cell)
        except ValueError:
            continue
    return None if cell == "NULL" else cell


def summed(rows: list[Row], is_sum: Sequence[bool]) -> list[Row]:
    """The rows with these columns summed by the others; as they are if none is."""
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(cell for cell, each in zip(row, is_sum, strict=True) if not each)].append(row)
    return (
        rows
        if not any(is_sum)
        else [
            tuple(
                sum(cells) if each else cells[0]
                for cells, each in zip(zip(*same, strict=True), is_sum, strict=True)
            )
            for same in groups.values()
        ]
    )


class Server:
    """Answers what the exporter asks from the pasted tables, without their `where`."""

    def __init__(self, text: str) -> None:
        self.tables: dict[str, Pasted] = {}
        collectors = [each for each in load_catalogue()[0].collectors.values() if each.table]
        known = {each.table or "": set(map(str.lower, each.all_columns())) for each in collectors}
        for result in filter(None, result_sets(text.splitlines())):
            shared = {table: len(columns & set(result.names)) for table, columns in known.items()}
            best = max(shared, key=lambda table: (shared[table], -len(known[table])))
            if shared[best] >= max(3, 0.6 * len(result.names)):
                self.tables.setdefault(best, result)

    def query(self, sql: str, deadline: float = 0.0) -> list[Row]:
        if sql == SERVER:
            return [("Adaptive Server Enterprise/16.0 SP04 PL03", "PASTED", 2048)]
        if sql.startswith("select proc_role('mon_role')"):
            return [(1,)]
        if sql.startswith(COLUMNS):
            return [
                (table, name, KINDS.get(type(value(cell)), "bigint"))
                for table, each in self.tables.items()
                for name, cell in zip(each.names, each[0], strict=True)
            ]
        if sql == OPTIONS or sql.startswith(("set ", "if ")):
            return []
        select = SELECT.match(sql)
        table = self.tables.get(select[2], Pasted([])) if select else Pasted([])
        items = select_items(select[1]) if select else []
        names = [item.partition(" = ")[0].lower() for item in items]
        if not items or not set(names) <= set(table.names):
            raise DatabaseError("query_failed", NOT_PASTED, 30001, usable=True)
        rows: list[Row] = [tuple(value(row[table.names.index(name)]) for name in names) for row in table]
        return summed(rows, [" = sum(" in item for item in items])

    def open(self, *_: object, **__: object) -> Self:
        return self

    def close(self) -> None:
        pass


@pytest.mark.shared
def test_the_collectors_read_the_published_output_of_a_real_16_0() -> None:
    server = Server(FILE.read_text(encoding="utf-8", errors="replace"))
    target = Target(name="pasted", host="pasted")
    config = Config(targets=(target,), auth={"default": Auth(user="pasted", password="")})
    checking = TargetCheck(
        config, target, load_catalogue()[0], everything=True, timeout=60, open_connection=server.open
    )
    report = checking.report()
    missing = {name for each in report.failures for name in each.collectors if NOT_PASTED in each.message}
    assert [each for each in report.failures if NOT_PASTED not in each.message] == []
    assert report.executed - len(missing) > 5
    waits = server.query("select WaitEventID, InstanceID, Waits, WaitTime from master..monSysWaits")
    assert (215, 0, 2058226, 3919) in waits
    sums = server.query(
        "select SpinlockName, Grabs = sum(convert(bigint, Grabs)) from master..monSpinlockActivity"
    )
    assert sum(grabs for _, grabs in sums) > 10_000_000
