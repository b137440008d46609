"""TableCounters: wraps, clears, resets, restarts and events, one case each."""

from datetime import datetime

import pytest

from ase_exporter.metrics import counters
from ase_exporter.metrics.counters import CounterStore, TableCounters, Width


def read(table: TableCounters, now: float, **rows: int) -> dict[str, float]:
    """One reading of a one-column table whose rows all have series of their own; totals by row."""
    deltas = table.growth([(name,) for name in rows], [list(rows.values())], now)
    table.add([table.series(name) for name in rows], deltas)
    return {name: table.totals[0][table.series(name)] for name in rows}


def read_sum(table: TableCounters, now: float, *slots: int | None) -> float:
    """One reading of a table whose rows (slots; None: gone) share a series; its total."""
    present = {(slot,): value for slot, value in enumerate(slots) if value is not None}
    table.add(
        [table.series("all")] * len(present), table.growth(list(present), [list(present.values())], now)
    )
    return float(table.totals[0][table.series("all")])


def test_the_first_reading_is_the_base_whatever_it_holds() -> None:
    table = CounterStore().table("t", ["int"])
    assert read(table, 0, a=500, b=-1) == {"a": 0, "b": 0}
    assert read(table, 15, a=510, b=0) == {"a": 10, "b": 1}


def test_a_row_that_comes_later_counts_from_zero() -> None:
    table = CounterStore().table("t", ["int"])
    read(table, 0, a=500)
    assert read(table, 15, a=510, b=7) == {"a": 10, "b": 7}


def test_an_exporter_restarted_after_a_wrap_shows_no_growth() -> None:
    read(CounterStore().table("t", ["int"]), 0, a=(1 << 31) - 100)
    assert read(CounterStore().table("t", ["int"]), 15, a=-(1 << 31) + 50) == {"a": 0}


@pytest.mark.parametrize(
    ("width", "before", "last", "after", "growth"),
    [
        ("int", (1 << 31) - 200, (1 << 31) - 100, 50, 150),
        ("int", (1 << 31) - 200, (1 << 31) - 100, -(1 << 31) + 50, 150),
        ("int", -200, -100, 50, 150),
        ("unsigned int", (1 << 32) - 200, (1 << 32) - 100, 50, 150),
        ("unsigned int", -200, -100, 50, 150),
    ],
)
def test_a_wrap_counts_the_growth_across_the_edge(
    width: Width, before: int, last: int, after: int, growth: int
) -> None:
    store = CounterStore()
    table = store.table("t", [width])
    read(table, 0, a=before)
    total = read(table, 15, a=last)["a"]
    assert read(table, 30, a=after)["a"] - total == growth
    assert +store.events == {"wrap": 1}


def test_a_counter_that_falls_far_from_its_edge_counts_from_zero() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    read(table, 0, a=1_000_000)
    read(table, 15, a=1_000_100)
    assert read(table, 30, a=7) == {"a": 107}
    assert +store.events == {"reset": 1}


def test_a_small_fall_is_no_growth() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    read(table, 0, a=1_000_000)
    assert read(table, 15, a=999_990) == {"a": 0}
    assert read(table, 30, a=1_000_010) == {"a": 20}
    assert +store.events == {"dip": 1}


def test_a_restart_counts_all_rows_from_zero_even_those_that_grew() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    store.observe_epoch(datetime(2024, 1, 1), None)
    read(table, 0, a=10, b=900)
    store.observe_epoch(datetime(2024, 1, 2), None)
    assert read(table, 15, a=30, b=5) == {"a": 30, "b": 5}
    assert +store.events == {"restart": 1}


def test_a_clear_counts_what_fell_from_zero_and_leaves_the_rest() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    store.observe_epoch(datetime(2024, 1, 1), datetime(2024, 1, 1))
    read(table, 0, a=(1 << 31) - 100, b=900)
    read(table, 15, a=(1 << 31) - 50, b=900)
    store.observe_epoch(datetime(2024, 1, 1), datetime(2024, 1, 2))
    assert read(table, 30, a=20, b=910) == {"a": 70, "b": 10}
    assert +store.events == {"clear": 1}


def test_an_instance_of_a_cluster_may_restart_alone() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    store.observe_epoch((1, 1), (), instances=2)
    read(table, 0, first=1000, second=1000)
    store.observe_epoch((1, 2), (), instances=2)
    assert read(table, 15, first=1010, second=30) == {"first": 10, "second": 30}


def test_the_sum_of_slots_keeps_the_growth_of_vanished_slots() -> None:
    table = CounterStore().table("t", ["wide"])
    assert read_sum(table, 0, 100, 200) == 0
    assert read_sum(table, 15, 110, None) == 10
    assert read_sum(table, 30, 120, 5) == 25
    assert read_sum(table, 45, 120, 8) == 28


def test_a_slot_that_was_only_overlooked_goes_on() -> None:
    table = CounterStore().table("t", ["wide"])
    read_sum(table, 0, 100, 200)
    read_sum(table, 15, 100, None)
    assert read_sum(table, 30, 100, 250) == 50


def test_a_new_generation_counts_from_zero() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    table.growth([("a",)], [[100]], 0, [datetime(2024, 1, 1)])
    assert table.growth([("a",)], [[150]], 15, [datetime(2024, 1, 2)]) == [[150]]
    assert +store.events == {"reset": 1}


def test_null_keeps_the_last_value() -> None:
    table = CounterStore().table("t", ["wide"])
    table.growth([("a",)], [[100]], 0)
    assert table.growth([("a",)], [[None]], 15) == [[0]]
    assert table.growth([("a",)], [[130]], 30) == [[30]]


def test_vanished_rows_are_forgotten_after_a_while() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    read(table, 0, a=100, b=1)
    read(table, 15, b=2)
    assert table.remembered == 2
    read(table, 16 + counters.FORGET_AFTER, b=3)
    assert table.remembered == 1


def test_memory_is_bounded_whatever_rows_come_and_go() -> None:
    table = CounterStore(max_absent_rows=100, max_idle_series=100).table("t", ["int"])
    read(table, -15.0)
    for reading in range(200):
        names = [f"{reading}-{row}" for row in range(50)]
        totals = read(table, reading * 15.0, **dict.fromkeys(names, 7))
        assert totals == dict.fromkeys(names, 7)
        assert table.remembered <= 150
        assert len(table.known_series()) <= 250


def test_a_series_in_use_survives_the_tidying_of_others() -> None:
    table = CounterStore(max_idle_series=10).table("t", ["wide"])
    for reading in range(100):
        totals = read(table, reading * 15.0, stays=reading, **{f"passing-{reading}": 1})
    assert totals["stays"] == 99


def test_events_are_counted_once_over_reconnections() -> None:
    table = CounterStore().table("t", ["wide"])
    one, two, three = datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 3)
    pipe = [(one, 1105), (two, 1105), (two, 1105)]
    assert table.new_events(pipe, 0, 0.0) == pipe
    assert table.new_events([*pipe, (two, 1105), (three, 1205)], 0, 15.0) == [(two, 1105), (three, 1205)]
    assert table.new_events([], 0, 30.0) == []
    assert table.new_events([(three, 1205)], 0, 45.0) == []


def test_every_kind_of_fall_has_its_metric() -> None:
    falls, rows = CounterStore().families()
    assert [labels for labels, _ in falls.samples] == [
        ("clear",),
        ("dip",),
        ("reset",),
        ("restart",),
        ("wrap",),
    ]
    assert rows.samples == [((), 0)]


def test_a_store_that_starts_at_raw_values_counts_the_first_reading() -> None:
    store = CounterStore(starts_at_raw=True)
    table = store.table("t", ["int"])
    assert read(table, 0, a=500, b=-1) == {"a": 500, "b": (1 << 32) - 1}
    assert read(table, 15, a=510, b=1) == {"a": 510, "b": (1 << 32) + 1}
    assert read_sum(store.table("slots", ["wide"]), 0, 5, None, 7) == 12
