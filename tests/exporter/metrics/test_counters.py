"""TableCounters: wraps, clears, resets, restarts and events, one case each."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ase_exporter.assets import load_yaml
from ase_exporter.metrics import counters
from ase_exporter.metrics.counters import DIP_LASTS, CounterStore, TableCounters
from ase_exporter.metrics.epochs import EpochReading, Identity, Instance
from ase_exporter.metrics.saved_totals import encode, restore


def read(table: TableCounters, now: float, **rows: int | None) -> dict[str, float]:
    """One reading of a one-column table whose rows all have series of their own; totals by row."""
    deltas = table.growth([(name,) for name in rows], [list(rows.values())], now)
    table.add([table.series(name) for name in rows], deltas)
    return {name: table.totals[0][table.series(name)] for name in rows}


CASES = load_yaml(Path(__file__).with_name("counters.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("restarts", [False, True], ids=["one process", "a process a reading"])
@pytest.mark.parametrize("name", CASES)
def test_readings_give_these_totals(name: str, restarts: bool) -> None:
    case, told = CASES[name], list[str]()
    store = CounterStore(on_rebase=told.append)
    for step, reading in enumerate(case["readings"]):
        now = step * 15.0
        if restarts:
            content, store = encode(store, final=True), CounterStore(on_rebase=told.append)
            restore(store, content)
        table = store.table("t", [case["width"]])
        epochs: dict[Instance, EpochReading] | None = None
        if "started" in reading:
            cleared, clock = reading.get("cleared", 0.0), reading.get("clock", now)
            epochs = {None: EpochReading(reading["started"], cleared, clock)}
        if "identity" in reading:
            store.identify(Identity(*reading["identity"]), epochs, now)
        elif epochs:
            store.observe(epochs, now)
        assert read(table, now, **reading["rows"]) == reading["totals"], step
    assert +store.events == case["events"]
    assert len(told) == case.get("told", 0)


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


def test_a_table_that_is_first_read_after_a_restart_does_not_see_it_again() -> None:
    store = CounterStore()
    store.observe({None: EpochReading(0.0, 0.0, 0.0)}, 0.0)
    read(store.table("early", ["wide"]), 0, a=100)
    store.observe({None: EpochReading(5.0, 0.0, 15.0)}, 15.0)
    table = store.table("late", ["wide"])
    read(table, 15, a=1000)
    # A clear is what has changed since.
    store.observe({None: EpochReading(5.0, 20.0, 30.0)}, 30.0)
    assert read(table, 30, a=1010) == {"a": 10}


def test_rows_that_were_forgotten_do_not_count_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_ABSENT_ROWS", 2)
    store = CounterStore()
    table = store.table("t", ["wide"])
    read(table, 0, a=100, b=200, c=300, d=400)
    read(table, 15, d=400)
    assert read(table, 30, a=100, b=205, c=310, d=400, new=5) == {"a": 0, "b": 5, "c": 10, "d": 0, "new": 5}
    # Known again, it grows as any other.
    assert read(table, 45, a=103, newer=1) == {"a": 3, "newer": 1}


def test_only_what_is_counted_from_a_second_reading_on_adds_to_the_totals() -> None:
    table, raw = CounterStore().table("t", ["wide"]), CounterStore(starts_at_raw=True).table("t", ["wide"])
    read(table, 0, a=1, b=1)
    read(raw, 0, a=1)
    assert not table.counts_reading and raw.counts_reading
    read(table, 15, a=2)
    assert table.counts_reading
    # The one that has vanished, too.
    assert table.remembered == 2


@pytest.mark.parametrize("vanished_before", [True, False])
def test_when_totals_start_again_a_row_that_is_back_is_not_new(vanished_before: bool) -> None:
    table = CounterStore().table("t", ["wide"])
    read(table, 0, a=100, b=50)
    if vanished_before:
        read(table, 15, a=110)
    table.may_lag = True
    assert read(table, 30, a=5) == {"a": 0}
    assert read(table, 45, a=6, b=60) == {"a": 1, "b": 0}
    assert read(table, 60, a=6, b=65, c=3) == {"a": 1, "b": 5, "c": 3}


def test_when_totals_start_again_in_the_dip_of_a_sum_what_is_back_is_no_growth() -> None:
    table = CounterStore().table("t", ["wide"])

    def grown(now: float, a: float, b: float) -> list[list[float]]:
        return table.growth([("a",), ("b",)], [[a, b]], now, sums=True)

    grown(0, 1000, 1000)
    table.may_lag = True
    assert grown(15, 7, 1010) == [[0, 0]]
    assert grown(30, 9, 1020) == [[0, 10]]
    assert grown(45, 1040, 1030) == [[0, 10]]
    assert grown(60, 1050, 1040) == [[10, 10]]
    # What does not come back is what there is.
    table.may_lag = True
    assert grown(75, 3, 1050) == [[0, 0]]
    assert grown(75 + DIP_LASTS + 15, 5, 1060) == [[0, 10]]
    assert grown(75 + DIP_LASTS + 30, 8, 1070) == [[3, 10]]


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


def test_series_are_tidied_once_the_idle_ones_are_too_many_and_one_in_use_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "MAX_IDLE_SERIES", 10)
    table = CounterStore().table("t", ["wide"])
    for reading in range(100):
        totals = read(table, reading * 15.0, stays=reading, **{f"passing-{reading}": 1})
        assert reading > 9 or (len(table.known_series()), table.renumbered) == (reading + 2, False)
    assert totals["stays"] == 99 and len(table.known_series()) < 25


def test_a_store_that_starts_at_raw_values_counts_the_first_reading() -> None:
    store = CounterStore(starts_at_raw=True)
    table = store.table("t", ["int"])
    assert read(table, 0, a=500, b=-1) == {"a": 500, "b": (1 << 32) - 1}
    assert read(table, 15, a=510, b=1) == {"a": 510, "b": (1 << 32) + 1}


NOON = datetime(2026, 10, 25, 12)


def log_of(store: CounterStore, *messages: tuple[int, str]) -> list[str]:
    """The new messages of one reading of a log. messages: minutes after noon, text."""
    rows = [(NOON + timedelta(minutes=minutes), text) for minutes, text in messages]
    return [text for _, text in store.table("log", ["wide"]).new_events(rows, 0, 0.0)]


def test_no_message_is_lost_when_the_clock_of_the_server_goes_back() -> None:
    store = CounterStore()
    assert log_of(store, (0, "a"), (5, "b")) == ["a", "b"]
    # An hour back; the pipe still has what it had.
    assert log_of(store, (0, "a"), (5, "b"), (-54, "c")) == ["c"]
    assert log_of(store, (0, "a"), (5, "b"), (-54, "c"), (-53, "d"), (-53, "d")) == ["d", "d"]
    # Another connection is told everything again, an older one only what is new.
    assert log_of(store) == []
    assert log_of(store, (5, "b"), (-54, "c"), (-53, "d"), (-53, "d"), (7, "e")) == ["e"]


def test_messages_that_a_pipe_may_show_again_are_remembered_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "MIN_REMEMBERED_EVENTS", 10)
    store = CounterStore()
    pipe = [(minute, str(minute)) for minute in range(30)]
    assert len(log_of(store, *pipe)) == 30
    for minute in range(30, 200):
        pipe = [*pipe[1:], (minute, str(minute))]
        assert log_of(store, *pipe) == [str(minute)]
    assert len(store.table("log", ["wide"]).seen) == 60
