"""A store that continues saved totals counts as the one that never ended, and nothing else is continued."""

import random
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from ase_exporter.clock import Clock
from ase_exporter.metrics import saved_totals
from ase_exporter.metrics.counters import CounterStore, TableCounters
from ase_exporter.metrics.epochs import EpochReading, Identity
from ase_exporter.metrics.saved_totals import TotalsError, check, encode, restore

HEAD = len(saved_totals._MAGIC)


def clock(monotonic: float = 1000.0, at: float = 1e9) -> Clock:
    return Clock(lambda: monotonic, lambda: at)


def continued(content: bytes, now: Clock | None = None) -> CounterStore:
    store = CounterStore()
    restore(store, content, now or clock())
    return store


def scraped(store: CounterStore, rows: dict[str, int], now: float) -> dict[str, float]:
    """The totals after one reading of a table with one counter a row."""
    table = store.table("t", ["int"])
    deltas = table.growth([(key,) for key in rows], [list(rows.values())], now)
    table.add([table.series(key) for key in rows], deltas)
    return {key: table.totals[0][number] for key, number in table.known_series()}


def saved() -> bytes:
    """A store with rows of each kind, and events."""
    store = CounterStore()
    store.identify(Identity("ASE1", "aa"), {None: EpochReading(-100.0, None, 0.0)}, 0.0)
    scraped(store, {"a": 10, "b": 20}, 0.0)
    scraped(store, {"a": 25}, 15.0)
    table = store.table("two", ["wide", "int"])
    keys, generations = [("x", 1), (None, 2)], [("2026-01-01",), (None,)]
    for now in (0.0, 15.0):
        columns: list[list[float | None]] = [[5 + now, 7.5], [1, 2]]
        deltas = table.growth(keys, columns, now, generations)
        table.add([table.series((str(key[0]),)) for key in keys], deltas)
    store.table("log", ["wide"]).new_events([(datetime(2026, 1, 1), "text")], 0, 0.0)
    return encode(store, clock(), final=True)


def test_what_is_saved_is_continued_whole() -> None:
    assert encode(continued(saved()), clock(), final=True) == saved()
    store = continued(saved())
    assert scraped(store, {"a": 30, "b": 21}, 30.0) == {"a": 20, "b": 1}
    table = store.table("two", ["wide", "int"])
    moved = [("2026-01-02",), (None,)]
    assert table.growth([("x", 1), (None, 2)], [[23.0, 8.0], [3, 2]], 30.0, moved) == [[23.0, 0.5], [3, 0]]
    log = store.table("log", ["wide"])
    assert log.new_events([(datetime(2026, 1, 1), "text"), (datetime(2026, 1, 1), "more")], 0, 30.0) == [
        (datetime(2026, 1, 1), "more")
    ]


def test_an_older_state_gives_the_same_totals_as_long_as_counters_only_grew() -> None:
    store = CounterStore()
    scraped(store, {"a": 10}, 0.0)
    old = encode(store, clock())
    scraped(store, {"a": 25}, 15.0)
    assert scraped(continued(old), {"a": 40}, 30.0) == scraped(store, {"a": 40}, 30.0)


# Readings after a process that was killed, and what row a has grown by at 60: its totals may have been exported since.
LAGS: dict[str, tuple[dict[str, int | None], int]] = {
    "a fall": ({"a": 9, "b": 30}, 51),
    "a row that is gone": ({"a": 40}, 20),
    "a cell that is not known": ({"a": None, "b": 30}, 0),
}


@pytest.mark.parametrize("case", LAGS)
def test_totals_that_may_lag_start_again_unless_all_goes_on(case: str) -> None:
    """What was exported last is not known: at anything but 0 a fall of the total would count as growth."""

    def read(store: CounterStore, rows: dict[str, int | None], now: float) -> list[float]:
        table = store.table("t", ["int"])
        keys = [(key,) for key in rows]
        table.add([table.series(key) for key in rows], table.growth(keys, [list(rows.values())], now))
        return table.totals[0]

    store = CounterStore()
    read(store, {"a": 10, "b": 20}, 0.0)
    read(store, {"a": 15, "b": 22}, 15.0)
    last, lagging = encode(store, clock(), final=True), encode(store, clock())
    reading, growth = LAGS[case]
    assert sum(read(continued(last), reading, 30.0)) >= 7
    store = continued(lagging)
    assert read(store, reading, 30.0) == [0, 0]
    assert read(store, {"a": 60, "b": 35}, 45.0)[0] == growth
    assert read(continued(lagging), {"a": 40, "b": 30, "new": 3}, 30.0) == [30, 10, 3]


def test_a_server_that_restarted_meanwhile_counts_from_its_start_unless_totals_may_lag() -> None:
    lagging = encode(continued(saved()), clock())
    for content, total in ((saved(), 15 + 9), (lagging, 0)):
        store = continued(content)
        store.identify(Identity("ASE1", "aa"), {None: EpochReading(20.0, None, 30.0)}, 30.0)
        assert scraped(store, {"a": 9}, 30.0)["a"] == total


def test_after_a_boot_times_are_those_of_the_new_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CounterStore()
    scraped(store, {"a": 1}, 50_000.0)
    content = encode(store, clock(monotonic=50_000.0, at=1e9))
    monkeypatch.setattr(saved_totals, "_boot_id", lambda: "another")
    # What was read at 50,000 was read a minute ago: at 40.
    assert continued(content, clock(100.0, 1e9 + 60)).tables["t"].read_at == 40.0
    # A wall clock that was set back says nothing: read just now.
    assert continued(content, clock(100.0, 1e9 - 7200)).tables["t"].read_at == 100.0


def test_a_number_beyond_64_bits_is_not_saved() -> None:
    store = CounterStore(starts_at_raw=True)
    scraped(store, {"a": 0}, 0.0)
    store.tables["t"].totals = [[1 << 70]]
    with pytest.raises(TotalsError, match="too large"):
        encode(store)


def signed(packed: bytes) -> bytes:
    return saved_totals._MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def forged(content: type[msgspec.Struct], state: list[Any], parts: dict[str, Any]) -> None:
    names = [field.name for field in msgspec.structs.fields(content)]
    for part, value in parts.items():
        state[names.index(part)] = value


def with_table(**parts: Any) -> bytes:
    """The saved totals with parts of a table replaced, and a right checksum."""
    state = msgspec.msgpack.decode(saved()[HEAD + 4 :])
    forged(TableCounters, state[6]["t"], parts)
    return signed(msgspec.msgpack.encode(state))


def with_store(**parts: Any) -> bytes:
    state = msgspec.msgpack.decode(saved()[HEAD + 4 :])
    forged(saved_totals._Store, state, parts)
    return signed(msgspec.msgpack.encode(state))


BAD: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no totals": lambda: b"nonsense",
    "cut": lambda: saved()[:-1],
    "one bit": lambda: saved()[:-1] + bytes([saved()[-1] ^ 1]),
    "a compressed bomb": lambda: signed(zlib.compress(bytes(1 << 24), 9)),
    "too large": lambda: signed(bytes(saved_totals.MAX_SIZE)),
    "deep": lambda: signed(b"\x91" * 100_000),
    "a promise of many": lambda: signed(b"\xdd\xff\xff\xff\xff"),
    "a pickle": lambda: signed(b"cos\nsystem\n(S'true'\ntR."),
    "another schema": lambda: signed(msgspec.msgpack.encode({})),
    "unknown kinds": lambda: with_store(events={"x": 1}),
    "negative events": lambda: with_store(events={"wrap": -5}),
    "events of text": lambda: with_store(events={"wrap": "a"}),
    "an epoch of text": lambda: with_store(epochs="a"),
    "a time that is none": lambda: with_store(monotonic=float("nan")),
    "a time that is infinite": lambda: with_store(at=float("inf")),
    "tables as a list": lambda: with_store(tables=[]),
    "negative totals": lambda: with_table(totals=[[-5, 1]]),
    "totals that are no numbers": lambda: with_table(totals=[[float("nan"), 1.0]]),
    "totals of text": lambda: with_table(totals=[["x", "y"]]),
    "short totals": lambda: with_table(totals=[[]]),
    "missing totals": lambda: with_table(totals=[]),
    "short values": lambda: with_table(values=[[]]),
    "infinite values": lambda: with_table(values=[[float("inf")]]),
    "a torn array": lambda: with_table(values=[{"kind": "q", "data": b"1234567890"}]),
    "keys twice": lambda: with_table(keys=[["a"], ["a"]], values=[[1, 1]], growth_of_rows=[]),
    "growth of other rows": lambda: with_table(growth_of_rows=[[1, 2, 3]]),
    "absent rows of other columns": lambda: with_table(absent=[[["b"], 1.0, [1, 2]]]),
    "a hole in another column": lambda: with_table(holes=[[["a"], 5]]),
    "an unknown width": lambda: with_table(widths=["huge"]),
    "a time of text": lambda: with_table(read_at="yesterday"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_damaged_or_forged_is_not_continued(case: str) -> None:
    content, store = BAD[case](), CounterStore()
    with pytest.raises(TotalsError):
        check(content)
    with pytest.raises(TotalsError):
        restore(store, content)
    assert (store.tables, store.events, store.epochs.identity) == ({}, {}, Identity())


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_under_a_right_checksum_leaves_a_store_that_counts(seed: int) -> None:
    dice, good = random.Random(seed), saved()[HEAD + 4 :]
    for _ in range(100):
        packed = bytearray(good)
        for _ in range(dice.randint(1, 3)):
            packed[dice.randrange(len(packed))] = dice.randrange(256)
        store = CounterStore()
        try:
            restore(store, signed(bytes(packed)), clock())
        except TotalsError:
            continue
        before = [total for table in store.tables.values() for column in table.totals for total in column]
        assert all(0 <= total < float("inf") for total in before)
        totals = scraped(store, {"a": 30, "b": 21}, 30.0)
        assert all(0 <= total < float("inf") for total in totals.values())
