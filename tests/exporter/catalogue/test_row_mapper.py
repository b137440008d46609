"""RowMapper: labels, units, sums of slots, top rows with a rest, events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.columns import Columns
from ase_exporter.metrics.counters import DIP_LASTS, CounterStore
from ase_exporter.metrics.epochs import EpochReading
from ase_exporter.metrics.families import Family

COLLECTOR = TypeAdapter(Collector)
SMP = ServerFacts(parse_version("16.0 SP04"), page_size=4096, utc_offset=timedelta(hours=2))
CLUSTER = ServerFacts(parse_version("Adaptive Server Enterprise/15.7/EBF 1 Cluster Edition SP138/P"))
WAITS = {"help": "Times waited.", "column": "Waits"}


class Reading:
    """A collector read again and again, rows given by hand."""

    def __init__(
        self,
        columns: str | Mapping[str, str],
        metrics: Mapping[str, Any] | None = None,
        facts: ServerFacts = SMP,
        *,
        grouped: bool = False,
        **keys: Any,
    ) -> None:
        """columns: names and types, as in `Name varchar, Waits int`."""
        if isinstance(columns, str):
            columns = dict(column.split() for column in columns.split(", "))
        keys |= {"metrics": metrics or {"ase_x_waits_total": WAITS}, "grouped": grouped}
        read = COLLECTOR.validate_python({"help": "A table.", "table": "monX", **keys})
        self.counters = CounterStore()
        self.mapper = RowMapper("x", read, columns, facts, 2, grouped=grouped)
        self.now = 0.0

    def __call__(self, *rows: Sequence[Any]) -> dict[str, dict[tuple[str, ...], float]]:
        self.now += 15.0
        made: list[Family] = self.mapper.families(rows, self.counters, self.now)
        return {family.name: {tuple(labels): value for labels, value in family.samples} for family in made}


def test_slots_are_unwrapped_each_before_they_are_summed() -> None:
    read = Reading("Name varchar, Slot int, Waits int", labels={"spinlock": "Name"}, key=["Slot"])
    edge = 1 << 31
    read(("c", 0, edge - 300), ("c", 1, 500))
    read(("c", 0, edge - 200), ("c", 1, 600))
    made = read(("c", 0, 50), ("c", 1, 700))
    assert made == {"ase_x_waits_total": {("c",): 100 + 100 + 250 + 100}}


def test_rows_that_nothing_tells_apart_are_summed_first() -> None:
    read = Reading("Name varchar, Waits bigint", labels={"spinlock": "Name"})
    read(("c", 100), ("c", 200))
    assert read(("c", 250), ("c", 110)) == {"ase_x_waits_total": {("c",): 60}}


def test_instances_of_a_cluster_have_series_of_their_own() -> None:
    metrics = {"ase_x_bytes": {"help": "Size.", "column": "Size"}}
    columns, labels = "Name varchar, InstanceID tinyint, Size int", {"cache": "Name"}
    cluster = Reading(columns, metrics, facts=CLUSTER, labels=labels)
    assert cluster(("c", 1, 5), ("c", 2, 7)) == {"ase_x_bytes": {("c", "1"): 5, ("c", "2"): 7}}
    assert Reading(columns, metrics, labels=labels)(("c", 0, 5)) == {"ase_x_bytes": {("c",): 5}}


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


def test_a_date_before_time_began_is_no_sample() -> None:
    read = Reading("At datetime", {"ase_x_seconds": {"help": "When.", "column": "At", "unit": "timestamp"}})
    assert read((datetime(1900, 1, 1),)) == {}


def test_the_last_date_of_ase_is_a_time_west_of_greenwich_too() -> None:
    west = ServerFacts(parse_version("16.0 SP04"), utc_offset=timedelta(hours=-5))
    read = Reading(
        "At datetime", {"ase_x_time": {"help": "Time.", "column": "At", "unit": "timestamp"}}, facts=west
    )
    assert read((datetime(9999, 12, 31, 23, 59, 59),)) == {"ase_x_time": {(): 253402300799 + 5 * 3600}}
    assert read((None,)) == {}


def test_null_is_no_sample_but_keeps_the_total() -> None:
    read = Reading("Index int, Waits int", labels={"index": "Index"})
    read((0, 10), (1, None))
    assert read((0, 30), (1, None)) == {"ase_x_waits_total": {("0",): 20}}
    assert read((0, None), (1, None)) == {}
    assert read((0, 50), (1, None)) == {"ase_x_waits_total": {("0",): 40}}


def test_several_columns_become_one_metric() -> None:
    read = Reading(
        "Zone varchar, U int, I int",
        {"ase_x": {"help": "Seconds.", "by": "mode", "columns": {"user": "U", "idle": "I"}}},
        labels={"zone": "Zone"},
    )
    assert read(("z", 1, 2)) == {"ase_x": {("user", "z"): 1, ("idle", "z"): 2}}


def test_a_column_that_is_missing_takes_only_its_metric() -> None:
    other = {"column": "Traffic", "unit": "bytes"}
    metrics = {
        "ase_x_waits_total": WAITS,
        "ase_x_new": {"help": "New in 16.", "column": "New"},
        "ase_x_traffic": {"help": "Bytes.", "column": "TrafficMB", "unit": "megabytes", "fallback": other},
    }
    labels = {"cache": "Name", "state": "Status"}
    made = Reading("Name varchar, Waits int, Traffic int", metrics, labels=labels)(("c", 1, 5))
    assert made == {"ase_x_waits_total": {("c",): 0}, "ase_x_traffic": {("c",): 5}}


def test_facts_in_labels_are_one_however_many_rows_say_so() -> None:
    read = Reading("Name varchar", {"ase_x_info": {"help": "1; in labels."}}, labels={"licence": "Name"})
    assert read(("a",), ("a ",), ("b",)) == {"ase_x_info": {("a",): 1, ("b",): 1}}


def test_rows_are_counted_and_totals_lose_the_labels() -> None:
    read = Reading(
        "Engine int, Status varchar, Yields int",
        {
            "ase_x_engines": {
                "help": "By state.",
                "total": True,
                "count": True,
                "labels": {"state": "Status"},
            },
            "ase_x_yields_total": {"help": "Yields.", "total": True, "column": "Yields"},
        },
        labels={"engine": "Engine"},
    )
    read((0, "online", 5), (1, "online", 5), (2, "offline", 5))
    made = read((0, "online", 6), (1, "online", 7), (2, "offline", 5))
    assert made == {"ase_x_engines": {("online",): 2, ("offline",): 1}, "ase_x_yields_total": {(): 3}}


def ranked() -> Reading:
    return Reading(
        "Name varchar, Waits int, Kept int",
        {"ase_x_waits_total": WAITS, "ase_x_kept": {"help": "A level.", "column": "Kept"}},
        labels={"object": "Name"},
        top={"by": ["Waits"]},
    )


def test_expensive_rows_have_series_and_the_rest_is_summed() -> None:
    read = ranked()
    made = read(("a", 1000, 1), ("b", 900, 2), ("c", 10, 3), ("d", 20, 4))
    assert made["ase_x_kept"] == {("a",): 1, ("b",): 2, ("rest",): 7}
    made = read(("a", 1100, 1), ("b", 1000, 2), ("c", 20, 3), ("d", 40, 4))
    assert made["ase_x_waits_total"] == {("a",): 100, ("b",): 100, ("rest",): 30}


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


def test_events_are_counted_from_the_first_reading_on_and_only_once() -> None:
    read = Reading(
        "Number int, At datetime",
        {"ase_x_messages_total": {"help": "Messages.", "count": True}},
        events="At",
        labels={"error": "Number"},
    )
    one, two = datetime(2024, 1, 1), datetime(2024, 1, 2)
    assert read((1105, one)) == {"ase_x_messages_total": {("1105",): 0}}
    made = read((1105, two), (1205, two), (1205, two))
    assert made == {"ase_x_messages_total": {("1105",): 1, ("1205",): 0}}, "rate() needs a 0 to rise from"
    assert read() == {"ase_x_messages_total": {("1105",): 1, ("1205",): 2}}
    again = read((1105, one), (1105, two), (1205, two), (1205, two))
    assert again == {"ase_x_messages_total": {("1105",): 1, ("1205",): 2}}


def test_state_tells_the_store_of_a_restart() -> None:
    read = Reading(
        "StartDate datetime, Cleared datetime, ReadAt datetime, Waits int",
        epoch={"started": "StartDate", "cleared": "Cleared"},
    )
    started = datetime(2024, 1, 1)
    seen = started + timedelta(hours=1)
    read((started, started, seen, 500))
    restarted, now = seen + timedelta(seconds=10), seen + timedelta(seconds=15)
    assert read((restarted, restarted, now, 300)) == {"ase_x_waits_total": {(): 300}}
    assert read.counters.events["restart"] == 1


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


def test_sums_made_by_the_server_start_again_with_it() -> None:
    read = Reading("Name varchar, Waits bigint", grouped=True, labels={"spinlock": "Name"})
    read.counters.observe({None: EpochReading(0.0, 0.0, 0.0)}, 0.0)
    read(("c", 1000))
    read.counters.observe({None: EpochReading(5.0, 0.0, 15.0)}, 15.0)
    assert read(("c", 700)) == {"ase_x_waits_total": {("c",): 700}}


@pytest.mark.parametrize("columns", [{}, {"Started": "datetime"}, {"Cleared": "datetime"}])
def test_a_table_without_the_times_of_its_counters_gives_its_metrics(columns: dict[str, str]) -> None:
    epoch = {"started": "Started", "cleared": "Cleared"}
    read = Reading({**columns, "Waits": "bigint"}, epoch=epoch)
    date = [datetime(2026, 1, 1)] * len(columns)
    read((*date, 100))
    assert read((*date, 130)) == {"ase_x_waits_total": {(): 30}}


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


def test_such_numbers_are_left_out_of_arrays_too() -> None:
    read = Reading("Name varchar, Waits float", labels={"cache": "Name"})
    names, samples = [f"n{number}" for number in range(1000)], []
    for first in (5.0, float("inf"), 8.0):
        waits = np.full(1000, 5.0)
        waits[0] = first
        (family,) = read.mapper.families(Columns([names, waits], 1000), read.counters, 15.0)
        samples.append(dict(family.samples).get(("n0",)))
    assert samples == [0.0, None, 3.0]
