"""A store that continues saved totals counts as the one that never ended."""

import pickle
import random
import zlib
from datetime import datetime

import numpy as np
import pytest

from ase_exporter.clock import Clock
from ase_exporter.metrics.columns import packed, unpacked
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.saved_totals import _MAGIC_1, _MAGIC_2, LastingParts, TotalsError, decode, encode

SERVER = "ase1:5000"


def clock(monotonic: float = 1000.0, at: float = 1e9) -> Clock:
    return Clock(lambda: monotonic, lambda: at)


def scraped(store: CounterStore, rows: dict[str, int], now: float) -> dict[str, int]:
    """The totals after one reading of a table with one counter a row."""
    table = store.table("t", ["int"])
    deltas = table.growth([(key,) for key in rows], [list(rows.values())], now)
    table.add([table.series(key) for key in rows], deltas)
    return {key: table.totals[0][number] for key, number in table.known_series()}


@pytest.mark.parametrize("seed", range(200))
def test_random_histories_with_random_restarts_have_the_totals_of_one_without(seed: int) -> None:
    dice = random.Random(seed)
    whole, interrupted = CounterStore(), CounterStore()
    rows = {"a": 5, "b": 2**31 - 500, "c": 0}
    started, cleared, now = datetime(2026, 1, 1), datetime(2026, 1, 1), 0.0
    for step in range(30):
        now += 15
        event = dice.random()
        if event < 0.05:
            rows, started = dict.fromkeys(rows, 0), datetime(2026, 1, 2, 0, step)
        elif event < 0.1:
            rows, cleared = dict.fromkeys(rows, 0), datetime(2026, 1, 2, 0, step)
        rows = {key: (value + dice.randint(0, 100)) % 2**31 for key, value in rows.items()}
        seen = {key: value for key, value in rows.items() if key == "a" or dice.random() < 0.8}
        for store in (whole, interrupted):
            store.observe_epoch((started,), (cleared,))
        expected = scraped(whole, seen, now)
        assert scraped(interrupted, seen, now) == expected
        assert interrupted.events == whole.events
        if dice.random() < 0.3:
            content = encode(SERVER, interrupted.saved(), clock())
            interrupted = CounterStore()
            interrupted.restore(*decode(content, SERVER, clock()))


def test_an_older_state_gives_the_same_totals_as_long_as_counters_only_grew() -> None:
    store = CounterStore()
    scraped(store, {"a": 10}, 0.0)
    old = encode(SERVER, store.saved(), clock())
    scraped(store, {"a": 25}, 15.0)
    expected = scraped(store, {"a": 40}, 30.0)
    continued = CounterStore()
    continued.restore(*decode(old, SERVER, clock()))
    assert scraped(continued, {"a": 40}, 30.0) == expected


def test_tables_that_are_read_rarely_are_kept_until_they_are_read_again() -> None:
    store = CounterStore()
    scraped(store, {"a": 10}, 0.0)
    scraped(store, {"a": 25}, 15.0)
    for _ in range(3):
        content = encode(SERVER, store.saved(), clock())
        store = CounterStore()
        store.restore(*decode(content, SERVER, clock()))
    assert scraped(store, {"a": 30}, 30.0) == {"a": 20}


def test_after_a_boot_times_are_those_of_the_new_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encode(SERVER, {}, clock(monotonic=50_000.0, at=1e9))
    monkeypatch.setattr("ase_exporter.metrics.saved_totals._boot_id", lambda: "another")
    _, shift = decode(content, SERVER, clock(monotonic=100.0, at=1e9 + 60))
    # What was read at 50,000 was read a minute ago: at 40.
    assert 50_000.0 + shift == 40.0
    # A wall clock that was set back says nothing: read just now.
    _, shift = decode(content, SERVER, clock(monotonic=100.0, at=1e9 - 7200))
    assert 50_000.0 + shift == 100.0


@pytest.mark.parametrize("content", [b"", b"nonsense", encode(SERVER, {}, clock())[:-1]])
def test_what_is_damaged_is_not_continued(content: bytes) -> None:
    with pytest.raises(TotalsError):
        decode(content, SERVER)


def test_totals_of_another_server_are_not_continued() -> None:
    with pytest.raises(TotalsError, match="of another server"):
        decode(encode(SERVER, {}, clock()), "ase2:5000")


def test_saved_totals_bring_no_code() -> None:
    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("harm",)

    with pytest.raises(TotalsError, match="damaged"):
        decode(encode(SERVER, {"epoch": Harmful()}, clock()), SERVER)


def test_parts_that_last_are_encoded_again_when_they_change() -> None:
    store, lasting = CounterStore(), LastingParts()
    for now, rows in enumerate(
        [{"a": 1}, {"a": 2}, {"a": 3, "b": 4}, {"b": 5}, {"b": 6, "c": 1, "a": 9}, {"a": 9}]
    ):
        scraped(store, rows, float(now))
        expected = encode(SERVER, store.saved(), clock())
        assert decode(encode(SERVER, store.saved(lasting.parts), clock()), SERVER) == decode(expected, SERVER)


@pytest.mark.parametrize(("rows", "kinds"), [(2, [dict, bytes, bytes]), (1500, [bytes, bytes, bytes])])
def test_a_table_is_encoded_again_when_it_has_changed(rows: int, kinds: list[type]) -> None:
    store, lasting = CounterStore(), LastingParts()
    for now in (0.0, 15.0, 30.0):
        scraped(store, {str(row): row + int(now) for row in range(rows)}, now)
        expected = decode(encode(SERVER, store.saved(), clock()), SERVER)
        encoded = [store.saved(lasting.parts) for _ in range(3)]
        assert [type(state["tables"]["t"][1]) for state in encoded] == kinds
        assert encoded[1]["tables"]["t"][1] is encoded[2]["tables"]["t"][1]
        for state in encoded:
            assert decode(encode(SERVER, state, clock()), SERVER) == expected


def test_totals_of_the_versions_before_are_continued() -> None:
    store = CounterStore()
    scraped(store, {"a": 10}, 0.0)
    state, shift = decode(encode(SERVER, store.saved(), clock()), SERVER, clock())

    def compressed(content: object) -> bytes:
        return zlib.compress(pickle.dumps(content))

    def encoded(magic: bytes, packed: bytes) -> bytes:
        return magic + zlib.crc32(packed).to_bytes(4, "big") + packed

    whole = compressed((SERVER, "", 1000.0, 1e9, state))
    assert decode(encoded(_MAGIC_1, whole), SERVER, clock()) == (state, shift)
    table = dict(state["tables"]["t"])
    lasting = compressed((table.pop("keys"), table.pop("series")))
    for rest in (table, compressed(table)):
        content = compressed((SERVER, "", 1000.0, 1e9, {**state, "tables": {"t": rest}}))
        old = encoded(_MAGIC_2, pickle.dumps((content, {"t": lasting})))
        assert decode(old, SERVER, clock()) == (state, shift)


def test_large_columns_are_continued() -> None:
    columns = [
        [5, 1 << 40, 0],
        [-1, 3, -(1 << 33)],
        [0.5, -2.0, 1e300],
        [0, 0, 0],
        [],
    ]
    for column in columns:
        as_array = np.array(column) if column else np.zeros(0, "q")
        assert unpacked(pickle.loads(pickle.dumps(packed(as_array)))) == column
        assert unpacked(packed(column)) is column
    assert len(packed(np.arange(1000))[2]) == 2000


def test_a_table_of_arrays_continues_as_one_of_lists() -> None:
    rows = [(row,) for row in range(1200)]
    stores = [CounterStore(), CounterStore()]
    for store, arrays in zip(stores, (False, True), strict=True):
        for now in (0.0, 15.0):
            column = [row * 7 + int(now) for row in range(1200)]
            values = np.array(column) if arrays else column
            table = store.table("t", ["int"])
            table.add([table.series(key) for key in rows], table.growth(rows, [values], now))
    states = []
    for store in stores:
        continued = CounterStore()
        continued.restore(*decode(encode(SERVER, store.saved(LastingParts().parts), clock()), SERVER))
        states.append(continued.table("t", ["int"]).saved())
    assert states[0] == states[1]
