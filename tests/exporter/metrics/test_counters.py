"""TableCounters: wraps, clears, resets, restarts and events, one case each."""

from datetime import datetime

import pytest

from ase_exporter.metrics import counters
from ase_exporter.metrics.counters import CounterStore, TableCounters, Width
from ase_exporter.metrics.epochs import EpochReading, Identity, Instance


def read(table: TableCounters, now: float, **rows: int | None) -> dict[str, float]:
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


def observe(
    store: CounterStore, now: float, started: float = 0.0, cleared: float = 0.0, instance: int | None = None
) -> None:
    """The server's clock is the exporter's."""
    store.observe({instance: EpochReading(started, cleared, now)}, now)


def test_a_restart_counts_what_fell_from_zero_and_of_the_rest_what_is_certain() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    observe(store, 0)
    read(table, 0, a=10, b=900, c=800)
    observe(store, 15, started=5)
    assert read(table, 15, a=30, b=5, c=6) == {"a": 20, "b": 5, "c": 6}
    assert +store.events == {"restart": 1}


@pytest.mark.parametrize(
    ("started", "kind"), [(-3, "start_moved"), (3, "start_moved"), (100, "start_moved"), (25, "not_young")]
)
def test_a_start_that_moves_without_a_restart_leaves_a_gap(started: float, kind: str) -> None:
    told: list[str] = []
    store = CounterStore(on_rebase=told.append)
    table = store.table("t", ["int"])
    observe(store, 0)
    read(table, 0, a=1000)
    observe(store, 15)
    read(table, 15, a=1100)
    observe(store, 30, started=started)
    assert read(table, 30, a=90_000) == {"a": 100}
    observe(store, 45, started=started)
    assert read(table, 45, a=90_010) == {"a": 110}
    assert len(told) == store.events[kind] == 1


def test_a_clock_that_was_set_proves_no_restart() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    observe(store, 0)
    read(table, 0, a=1000)
    store.observe({None: EpochReading(3000.0, 0.0, 3615.0)}, 15)
    assert read(table, 15, a=900) == {"a": 0}
    assert store.events["start_moved"] == 1


def test_a_cell_that_is_unknown_at_its_base_starts_at_what_it_has_then() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    store.identify(Identity("ASE1", "aa"), {None: EpochReading(-100.0, 0.0, 0.0)}, 0)
    assert [read(table, 0, a=None), read(table, 15, a=1000), read(table, 30, a=1010)] == [
        {"a": 0},
        {"a": 0},
        {"a": 10},
    ]
    store.identify(Identity("ASE1", "bb"), {None: EpochReading(-100.0, 0.0, 45.0)}, 45)
    grown = [read(table, 45, a=None), read(table, 60, a=90_000), read(table, 75, a=90_005)]
    assert grown == [{"a": 10}, {"a": 10}, {"a": 15}]


def test_another_server_behind_the_address_is_a_new_base() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    store.identify(Identity("ASE1", "aa"), {None: EpochReading(-100.0, 0.0, 0.0)}, 0)
    read(table, 0, a=1000, b=1)
    for now, identity, growth in ((15, Identity("ASE2", "aa"), 0), (30, Identity("ASE2", "bb"), 0)):
        store.identify(identity, {None: EpochReading(now - 5.0, 0.0, now)}, now)
        assert read(table, now, a=50 + now)["a"] == growth
    store.identify(Identity("ASE2"), {None: EpochReading(25.0, 0.0, 45.0)}, 45)
    # A row of the name that the first server had may have been there all the time.
    assert read(table, 45, a=85, b=3) == {"a": 5, "b": 0}
    assert +store.events == {"other_server": 2}


def test_a_server_that_does_not_say_when_it_started_may_be_any() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    store.identify(Identity("ASE1"), {None: EpochReading(-100.0, 0.0, 0.0)}, 0)
    read(table, 0, a=1000)
    store.identify(Identity("ASE1"), None, 15)
    assert read(table, 15, a=9_000_000) == {"a": 0}
    assert store.events["start_moved"] == 1


def test_a_clear_counts_what_fell_from_zero_and_leaves_the_rest() -> None:
    store = CounterStore()
    table = store.table("t", ["int"])
    observe(store, 0)
    read(table, 0, a=(1 << 31) - 100, b=900)
    read(table, 15, a=(1 << 31) - 50, b=900)
    observe(store, 30, cleared=20)
    assert read(table, 30, a=20, b=910) == {"a": 70, "b": 10}
    assert +store.events == {"clear": 1}


def test_instances_of_a_cluster_restart_leave_and_join_alone() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"], by_instance=True)
    starts: dict[Instance, float] = {1: 0.0, 2: 0.0}

    def reading(now: float, **rows: int) -> dict[str, float]:
        store.observe({each: EpochReading(start, 0.0, now) for each, start in starts.items()}, now)
        keys = [(name, int(name[-1])) for name in rows]
        table.add([table.series(name) for name in rows], table.growth(keys, [list(rows.values())], now))
        return {name: table.totals[0][table.series(name)] for name in rows}

    reading(0, on1=1000, on2=1000)
    starts[2] = 10
    assert reading(15, on1=1010, on2=30) == {"on1": 10, "on2": 30}
    del starts[2]
    assert reading(30, on1=1020) == {"on1": 20}
    starts[2] = 10
    assert reading(45, on1=1030, on2=70) == {"on1": 30, "on2": 70}
    # One that was there before, and one that has just started.
    starts |= {3: -500, 4: 55}
    assert reading(60, on1=1040, on2=80, on3=9_000, on4=5) == {"on1": 40, "on2": 80, "on3": 0, "on4": 5}
    assert reading(75, on1=1050, on2=80, on3=9_001, on4=6) == {"on1": 50, "on2": 80, "on3": 1, "on4": 6}


def test_rows_that_were_forgotten_do_not_count_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_ABSENT_ROWS", 2)
    store = CounterStore()
    table = store.table("t", ["wide"])
    read(table, 0, a=100, b=200, c=300, d=400)
    read(table, 15, d=400)
    assert read(table, 30, a=100, b=205, c=310, d=400, new=5) == {"a": 0, "b": 5, "c": 10, "d": 0, "new": 5}


def test_a_new_generation_counts_from_zero() -> None:
    store = CounterStore()
    table = store.table("t", ["wide"])
    table.growth([("a",)], [[100]], 0, [("2024-01-01",)])
    assert table.growth([("a",)], [[150]], 15, [("2024-01-02",)]) == [[150]]
    assert +store.events == {"reset": 1}


def test_memory_is_bounded_whatever_rows_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_ABSENT_ROWS", 100)
    monkeypatch.setattr(counters, "MAX_IDLE_SERIES", 100)
    table = CounterStore().table("t", ["int"])
    read(table, -15.0)
    for reading in range(200):
        names = [f"{reading}-{row}" for row in range(50)]
        totals = read(table, reading * 15.0, **dict.fromkeys(names, 7))
        assert totals == dict.fromkeys(names, 7)
        assert table.remembered <= 150
        assert len(table.known_series()) <= 250


def test_a_series_in_use_survives_the_tidying_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_IDLE_SERIES", 10)
    table = CounterStore().table("t", ["wide"])
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
    assert [labels for labels, _ in falls.samples] == [(kind,) for kind in counters.EVENT_KINDS]
    assert rows.samples == [((), 0)]


def test_a_store_that_starts_at_raw_values_counts_the_first_reading() -> None:
    store = CounterStore(starts_at_raw=True)
    table = store.table("t", ["int"])
    assert read(table, 0, a=500, b=-1) == {"a": 500, "b": (1 << 32) - 1}
    assert read(table, 15, a=510, b=1) == {"a": 510, "b": (1 << 32) + 1}
    assert read_sum(store.table("slots", ["wide"]), 0, 5, None, 7) == 12
