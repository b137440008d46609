"""Every counter of the catalogue that may wrap loses nothing when it does, to zero or on to negative."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.versions import VERSIONS

from ase_exporter.catalogue import PlannedCollector, ServerFacts, load_catalogue, plan
from ase_exporter.catalogue.facts import ROLES
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.metrics.counters import CounterStore

CATALOGUE, _ = load_catalogue()
EVERYTHING = dict.fromkeys(CATALOGUE.collectors, True)
NARROW = ("int", "intn", "smallint", "tinyint")
STEP, READINGS = 60, 8
# The first reading, and the value from which the server shows the counter as negative, or as zero.
START = (1 << 31) - 3 * STEP


def negative(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def zero(value: int) -> int:
    return value % (1 << 31)


def narrow_counters(planned: PlannedCollector) -> Iterator[tuple[str, list[str]]]:
    """The int columns of counters, each with the metrics that it feeds."""
    collector, mapper = CATALOGUE.collectors[planned.name], planned.mapper
    assert mapper
    metrics: dict[str, list[str]] = {}
    for name, metric in collector.metrics.items():
        if name.endswith("_total"):
            for column in metric.for_columns(mapper.columns).sources().values():
                if mapper.columns.get(column, "") in NARROW:
                    metrics.setdefault(column, []).append(name)
    yield from metrics.items()


def row(mapper: RowMapper, values: dict[str, int]) -> dict[str, Any]:
    """A row with these values, in which everything else stands still."""

    def cell(kind: str) -> Any:
        if "date" in kind:
            return datetime(2026, 1, 1)
        return "a" if "char" in kind else 1

    return {name: cell(kind) for name, kind in mapper.columns.items()} | values


def is_shown(collector: Collector, cells: dict[str, Any]) -> bool:
    """Whether the collector's condition lets the row through, judged by SQLite."""
    if collector.where is None:
        return True
    condition = collector.where.replace("@@spid", "SPID")
    named = {name.lower(): value for name, value in cells.items() if not isinstance(value, datetime)}
    used = [word for word in re.findall(r"[A-Za-z]+", condition) if word.lower() in named]
    names = ", ".join(f"? as {word}" for word in dict.fromkeys(used))
    values = [named[word.lower()] for word in dict.fromkeys(used)]
    with sqlite3.connect(":memory:") as database:
        return bool(database.execute(f"select {condition} from (select {names})", values).fetchone()[0])


def exported(
    planned: PlannedCollector, store: CounterStore, cells: dict[str, Any], now: float
) -> dict[str, float]:
    """The sum of each metric after one reading."""
    rows = [tuple(cells.values())] if is_shown(CATALOGUE.collectors[planned.name], cells) else []
    families = planned.families(rows, store, now)
    return {family.name: sum(value for _, value in family.samples) for family in families}


def expected_columns(facts: ServerFacts) -> set[tuple[str, str]]:
    """The int columns of all counters of the catalogue that this server has, by collector; not of events."""
    found = set()
    for name, collector in CATALOGUE.collectors.items():
        if collector.events or not collector.is_of(facts.cluster):
            continue
        kinds = {
            c.lower(): kind
            for c, kind in (facts.tables.get(collector.table or "") or collector.columns).items()
        }
        for metric_name, metric in collector.metrics.items():
            present = [column for column in metric.all_sources() if column.lower() in kinds]
            for column in metric.for_columns(present).sources().values():
                if metric_name.endswith("_total") and kinds.get(column.lower()) in NARROW:
                    found.add((name, column))
    return found


@pytest.mark.parametrize("shown", [negative, zero])
@pytest.mark.parametrize("version", VERSIONS)
def test_no_increment_is_lost(
    facts_of: Callable[[str], ServerFacts], version: str, shown: Callable[[int], int]
) -> None:
    # Whatever is switched off here may be on elsewhere.
    facts = replace(facts_of(version), options={}, roles=frozenset(ROLES))
    tried = set()
    for planned in plan(CATALOGUE, facts, EVERYTHING):
        if not planned.available or CATALOGUE.collectors[planned.name].events:
            continue
        if not (columns := dict(narrow_counters(planned))):
            continue
        store, first = CounterStore(), dict[str, float]()
        readings = READINGS + len(columns)
        for reading in range(readings):
            # The pace is known from the second reading on; then one column after the other crosses the edge.
            values = {column: shown(START + (reading - at) * STEP) for at, column in enumerate(columns)}
            assert planned.mapper
            totals = exported(planned, store, row(planned.mapper, values), reading * 15.0)
            first = first if reading != 1 else totals
        for column, metrics in columns.items():
            for name in metrics:
                assert totals[name] == pytest.approx((readings - 1) * first[name]), (planned.name, name)
                assert totals[name] > 0
            tried.add((planned.name, column))
        assert store.events["wrap"] >= len(columns), planned.name
    assert tried == expected_columns(facts)
