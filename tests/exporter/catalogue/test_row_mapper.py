"""RowMapper: labels, units, sums of slots, top rows with a rest, events; row_mapper.yaml has the examples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tests.exporter.samples import Samples, by_name

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.counters import DIP_LASTS, CounterStore

COLLECTOR = TypeAdapter(Collector)
SMP = ServerFacts(parse_version("16.0 SP04"), page_size=4096, utc_offset=timedelta(hours=2))
CLUSTER = ServerFacts(parse_version("Adaptive Server Enterprise/15.7/EBF 1 Cluster Edition SP138/P"))
WAITS = {"help": "Times waited.", "column": "Waits"}


class Reading:
    """A collector read again and again, rows given by hand."""

    def __init__(
        self,
        columns: str,
        metrics: Mapping[str, Any] | None = None,
        facts: ServerFacts = SMP,
        *,
        grouped: bool = False,
        **keys: Any,
    ) -> None:
        """columns: names and types, as in `Name varchar, Waits int`."""
        keys = {"metrics": metrics or {"ase_x_waits_total": WAITS}, "grouped": grouped, **keys}
        read = COLLECTOR.validate_python({"help": "A table.", "table": "monX", **keys})
        self.counters = CounterStore()
        types = dict(column.split() for column in columns.split(", "))
        self.mapper = RowMapper("x", read, types, facts, 2, grouped=grouped)
        self.now = 0.0

    def __call__(self, *rows: Sequence[Any]) -> Samples:
        self.now += 15.0
        return by_name(self.mapper.families(rows, self.counters, self.now))


CASES = load_yaml(Path(__file__).with_name("row_mapper.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_rows_give_these_series(name: str) -> None:
    case = CASES[name]
    version = CLUSTER.version if case.get("cluster") else SMP.version
    facts = replace(SMP, version=version, utc_offset=timedelta(hours=case.get("utc_offset", 2)))
    read = Reading(case["columns"], facts=facts, **case["keys"])
    for reading in case["readings"]:
        made = {
            metric: {",".join(labels): value for labels, value in series.items()}
            for metric, series in read(*reading["rows"]).items()
        }
        assert made == reading["made"]
    assert +read.counters.events == case.get("events", {})


@pytest.mark.parametrize(
    ("unit", "raw", "value"),
    [
        ("kilobytes", 3, 3072),
        ("milliseconds", 1500, 1.5),
        ("server pages", 2, 8192),
        ("2k pages", 2, 4096),
        ("percent", 5, 0.05),
        ("timestamp", datetime(1971, 1, 1, 2), 365 * 86400),
    ],
)
def test_values_are_converted_to_base_units(unit: str, raw: object, value: float) -> None:
    read = Reading("V int", {"ase_x": {"help": "A value.", "column": "V", "unit": unit}})
    assert read((raw,))["ase_x"][()] == pytest.approx(value)


def ranked() -> Reading:
    return Reading(
        "Name varchar, Waits int, Kept int",
        {"ase_x_waits_total": WAITS, "ase_x_kept": {"help": "A level.", "column": "Kept"}},
        labels={"object": "Name"},
        top=["Waits"],
    )


def test_increases_of_all_series_sum_to_the_truth_while_rows_rise_and_fall() -> None:
    read = ranked()
    raw = {"a": 1000, "b": 900, "c": 10, "d": 20}
    paces = [
        {"a": 50},
        {"c": 500},
        {"c": 400, "d": 300},
        {"d": 900, "b": 1},
        {"a": 7, "b": 7, "c": 7, "d": 7},
    ]
    seen = read(*((name, value, 0) for name, value in raw.items()))["ase_x_waits_total"]
    for pace in paces:
        for name, delta in pace.items():
            raw[name] += delta
        made = read(*((name, value, 0) for name, value in raw.items()))["ase_x_waits_total"]
        assert len(made) == 3
        # As rate() sees it: the first sample of a series brings nothing.
        increases = [value - seen.get(series, value) for series, value in made.items()]
        assert min(increases) >= 0
        assert sum(increases) == sum(pace.values())
        seen |= made
    assert ("c",) in seen
    assert ("d",) in seen


@given(st.data())
def test_sums_made_by_the_server_never_grow_by_more_than_their_rows(data: st.DataObject) -> None:
    read = Reading("Name varchar, Waits bigint", grouped=True, labels={"spinlock": "Name"})
    slots = dict(enumerate(data.draw(st.lists(st.integers(1, 10**12), min_size=1, max_size=8), "slots")))
    total, dipped = sum(read(("c", sum(slots.values())))["ase_x_waits_total"].values()), False
    for _ in range(data.draw(st.integers(1, 10), "readings")):
        vanished = data.draw(st.sets(st.sampled_from(sorted(slots)), max_size=len(slots) - 1), "vanished")
        slots = {slot: waits for slot, waits in slots.items() if slot not in vanished}
        growth = {slot: data.draw(st.integers(0, 10**9), "growth") for slot in slots}
        added = {max(slots) + 1: data.draw(st.integers(0, 10**9), "new")} if data.draw(st.booleans()) else {}
        slots = {slot: waits + growth[slot] for slot, waits in slots.items()} | added
        (after,) = read(("c", sum(slots.values())))["ase_x_waits_total"].values()
        truth = sum(growth.values()) + sum(added.values())
        dipped |= bool(vanished)
        if dipped:
            assert 0 <= after - total <= truth
        else:
            assert after - total == truth
        total = after


def test_a_sum_that_has_dipped_counts_on_when_its_rows_are_back_or_have_been_gone_for_long() -> None:
    read = Reading("Name varchar, Waits bigint", grouped=True, labels={"spinlock": "Name"})

    def total(waits: int) -> float:
        return read(("c", waits))["ase_x_waits_total"]["c",]

    assert [total(waits) for waits in (1000, 600, 650, 1100, 1150)] == [0, 0, 0, 0, 50]
    assert total(300) == 50
    read.now += DIP_LASTS + 1
    assert [total(waits) for waits in (310, 320)] == [50, 60]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf"), 1e300, Decimal("1e30")])
@pytest.mark.parametrize("rows", [2, 2000])
def test_a_number_that_no_type_of_ase_can_count_to_is_left_out_and_spoils_no_total(
    odd: float, rows: int
) -> None:
    read = Reading(
        "Name varchar, Waits float, Size float",
        {"ase_x_waits_total": WAITS, "ase_x_size": {"help": "Size.", "column": "Size"}},
        labels={"cache": "Name"},
    )

    def table(value: Any, growth: float) -> list[tuple[str, Any, Any]]:
        return [("odd", value, value), *((f"n{number}", 5.0 + growth, 7.0) for number in range(rows - 1))]

    read(*table(100.0, 0.0))
    made = read(*table(odd, 1.0))
    assert ("odd",) not in made["ase_x_waits_total"]
    assert ("odd",) not in made["ase_x_size"]
    assert made["ase_x_waits_total"][("n0",)] == 1.0
    made = read(*table(110.0, 3.0))
    assert made["ase_x_waits_total"][("odd",)] == 10.0
    assert made["ase_x_waits_total"][("n0",)] == 3.0
