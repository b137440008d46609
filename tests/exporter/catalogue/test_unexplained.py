"""Each thing that a server can refuse or lack, taken away in turn: every metric that is lost is explained by `check`.

The servers are the captures of all versions; the truth is what was collected before and after.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from tests.exporter.capture.recorded import FOLDER, RecordedServer, check_of, loaded
from tests.exporter.simulated import CATALOGUE

from ase_exporter.ase.connection import DatabaseError, Row
from ase_exporter.capture.playback import Playback
from ase_exporter.catalogue import facts as read

FILES = sorted(FOLDER.glob("*-idle-sa.capture.gz"))
TABLES = re.compile(r"\b(?:master|tempdb|[a-z]\w*)\.\.(\w+)")
# A change of the answers: SQL and rows -> rows, or a DatabaseError.
Removal = Callable[[str, list[Row]], list[Row]]


def refused(number: int, text: str) -> DatabaseError:
    return DatabaseError("query_failed", f"Msg {number}: {text}", number, usable=True)


def without_permission(table: str) -> Removal:
    def answer(sql: str, rows: list[Row]) -> list[Row]:
        if table in TABLES.findall(sql):
            raise refused(10330, f"SELECT permission denied on object {table}")
        return rows

    return answer


def without_role(role: str) -> Removal:
    def answer(sql: str, rows: list[Row]) -> list[Row]:
        if role == "mon_role" and re.search(r"\.\.mon[A-Z]", sql):
            raise refused(10353, "You must have any of the following role(s): 'mon_role'")
        if role == "sa_role" and sql.startswith("exec sp_monitorconfig"):
            raise refused(17230, "Only the System Administrator (SA) may execute this stored procedure.")
        return [(0,)] if sql == f"select proc_role('{role}')" else rows

    return answer


def with_option_off(option: str) -> Removal:
    def answer(sql: str, rows: list[Row]) -> list[Row]:
        return [(n, 0) if n == option else (n, v) for n, v in rows] if sql == read.OPTIONS else rows

    return answer


def without(table: str, column: str = "") -> Removal:
    """The table, or one of its columns, is not there."""

    def answer(sql: str, rows: list[Row]) -> list[Row]:
        if sql.startswith(read.COLUMNS) or sql == read.PROXY_COLUMNS:
            return [row for row in rows if row[0] != table or (column and row[1] != column)]
        if table in TABLES.findall(sql) and (not column or re.search(rf"\b{column}\b", sql)):
            raise refused(207 if column else 208, f"{table} {column} not found")
        return rows

    return answer


class Reduced(RecordedServer):
    """A capture whose server refuses or lacks something."""

    removal: Removal

    def query(self, sql: str, deadline: float = 0.0) -> list[Row]:
        rows = super().query(sql, deadline)
        return self.removal(sql, rows)


def checked(path: Any, removal: Removal) -> tuple[set[str], set[str]]:
    """The metrics that have samples, and those that `check` says are lost."""
    server = Reduced(loaded(path).statements)
    server.removal = removal
    check = check_of(server)
    report = check.report()
    explained: Sequence[Any] = [*report.gaps, *report.failures]
    collected = {
        family.name for families in check._collected.values() for family in families if family.samples
    }
    return collected, {metric for each in explained for metric in each.metrics}


def removals(path: Any) -> Iterator[tuple[str, Removal]]:
    """Everything that may be taken away, in an order that is random, but always the same."""
    server = Playback(loaded(path).statements)
    facts = read.read_facts(server.query)
    sent = {table for each in loaded(path).statements for table in TABLES.findall(each.sql)}
    found = [(f"no permission on {table}", without_permission(table)) for table in sorted(sent)]
    found += [(f"no {role}", without_role(role)) for role in sorted(facts.roles)]
    options = {option for each in CATALOGUE.collectors.values() for option in each.options}
    found += [(f"{option} off", with_option_off(option)) for option in sorted(options & facts.options.keys())]
    for name in sorted(facts.tables):
        found.append((f"no {name}", without(name)))
        found += [(f"no {name}.{column}", without(name, column)) for column in sorted(facts.tables[name])]
    random.Random(path.name).shuffle(found)
    yield from found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix("-idle-sa.capture.gz"))
@pytest.mark.parametrize("many", [3, pytest.param(2000, marks=pytest.mark.slow)], ids=["some", "all"])
def test_what_is_lost_is_explained(path: Any, many: int) -> None:
    usual, _ = checked(path, lambda _, rows: rows)
    unexplained = {}
    for what, removal in islice(removals(path), many):
        left, explained = checked(path, removal)
        if lost := usual - left - explained:
            unexplained[what] = sorted(lost)
    assert unexplained == {}
