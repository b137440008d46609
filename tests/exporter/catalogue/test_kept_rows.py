"""What a mapper keeps from reading to reading (texts, series, keys) changes nothing that is exported."""

import random
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.exporter.catalogue import shapes
from tests.exporter.catalogue.shapes import SHAPES

from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.clock import Clock
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.epochs import EpochReading
from ase_exporter.metrics.exposition import render_openmetrics, render_text
from ase_exporter.metrics.saved_totals import encode, restore

COLUMNS = {
    "Name": "varchar",
    "Slot": "int",
    "State": "varchar",
    "Grabs": "bigint",
    "Waits": "int",
    "Ratio": "float",
    "Since": "datetime",
}
METRICS: dict[str, Any] = {
    "ase_x_grabs_total": {"help": "Counted.", "column": "Grabs"},
    "ase_x_time_seconds_total": {
        "help": "Timed.",
        "by": "mode",
        "columns": {"user": "Waits", "system": "Grabs"},
        "unit": "milliseconds",
    },
    "ase_x_sum_total": {"help": "All of them.", "column": "Ratio", "total": True},
    "ase_x_bytes": {"help": "Held.", "column": "Waits", "unit": "server pages"},
    "ase_x_ratios": {"help": "Two kinds.", "by": "kind", "columns": {"a": "Ratio", "b": "Waits"}},
    "ase_x_rows": {"help": "Rows.", "count": True},
    "ase_x_states": {"help": "Rows.", "count": True, "total": True, "labels": {"state": "State"}},
    "ase_x_info": {"help": "One for each.", "labels": {"state": "State"}},
    "ase_x_since_timestamp_seconds": {"help": "Its time.", "column": "Since", "unit": "timestamp"},
}
KEPT = SHAPES | {"generations": {"labels": {"name": "Name", "slot": "Slot"}, "generation": "Since"}}
Row = tuple[Any, ...]
CLOCK = Clock(lambda: 0.0, lambda: 0.0)


def mapper(shape: str) -> RowMapper:
    return shapes.mapper(COLUMNS, METRICS, 3, KEPT[shape])


def readings(seed: int) -> Iterator[list[Row]]:
    """Rows that grow, stay, wrap, are cleared, vanish, come back, change order, have NULLs and negative values."""
    chance = random.Random(seed)
    dates = [None, datetime(1900, 1, 1), datetime(2026, 1, 2, 3, 4), datetime(2026, 5, 6)]
    rows: list[list[Any]] = [
        [
            f'n"{slot % 4}"\\',
            slot,
            "online",
            chance.randrange(1 << 40),
            chance.randrange(1 << 31),
            0.1,
            dates[2],
        ]
        for slot in range(9)
    ]
    for _ in range(25):
        for row in rows:
            row[3] += chance.choice([0, 0, 7, 10**9])
            row[4] = (row[4] + chance.choice([0, 1, 10**8])) % (1 << 31)
            row[5] += chance.choice([0, 0.3, 1e15])
            match chance.randrange(60):
                case 0:
                    row[3:6] = [0, 0, 0.0]
                case 1:
                    row[4] = -1
                case 2:
                    row[2], row[6] = chance.choice(["offline", "online"]), chance.choice(dates)
        shown = [tuple(row) for row in rows]
        match chance.randrange(8):
            case 0:
                shown = [row for row in shown if chance.random() < 0.7]
            case 1:
                chance.shuffle(shown)
            case 2:
                place = chance.randrange(2, 7)
                shown = [
                    (*row[:place], None, *row[place + 1 :]) if chance.random() < 0.5 else row for row in shown
                ]
        yield shown
        if chance.random() < 0.3:
            yield shown


@pytest.mark.parametrize("shape", KEPT)
@pytest.mark.parametrize("seed", range(3))
def test_a_mapper_that_has_read_before_gives_the_text_of_a_new_one(shape: str, seed: int) -> None:
    kept, store, other_store = mapper(shape), CounterStore(), CounterStore()
    chance, started, cleared = random.Random(seed), 0.0, 0.0
    for step, rows in enumerate(readings(seed)):
        now = step * 15.0
        started = now - 1 if chance.random() < 0.1 else started
        cleared = now - 1 if chance.random() < 0.1 else cleared
        for each in (store, other_store):
            each.observe({None: EpochReading(started, cleared, now)}, now)
        expected = mapper(shape).families(rows, other_store, step * 15.0)
        made = kept.families(rows, store, step * 15.0)
        assert render_text(made) == render_text(expected)
        assert render_openmetrics(made) == render_openmetrics(expected)
        assert store.events == other_store.events
        assert encode(store, CLOCK) == encode(other_store, CLOCK)


@pytest.mark.parametrize("shape", KEPT)
@pytest.mark.parametrize("seed", range(2))
def test_a_process_that_continues_gives_the_text_of_one_that_never_ended(shape: str, seed: int) -> None:
    continued, store = mapper(shape), CounterStore()
    lasted, other_store = mapper(shape), CounterStore()
    chance, started, cleared, now = random.Random(seed), 0.0, 0.0, 0.0
    for rows in readings(seed):
        for _ in range(chance.choice([1, 1, 2, 3])):
            now += 15.0
            started = now - 1 if chance.random() < 0.05 else started
            cleared = now - 1 if chance.random() < 0.05 else cleared
            for each in (store, other_store):
                each.observe({None: EpochReading(started, cleared, now)}, now)
            made = continued.families(rows, store, now)
            assert render_text(made) == render_text(lasted.families(rows, other_store, now))
            saved = encode(store, CLOCK)
            if chance.random() < 0.15:
                continued, store = mapper(shape), CounterStore()
                restore(store, saved, CLOCK)


@pytest.mark.parametrize("shape", KEPT)
def test_families_stay_as_they_were_when_the_table_is_read_again(shape: str) -> None:
    """The families of a collector that is not due are exposed again."""
    kept, store = mapper(shape), CounterStore()
    earlier = []
    for step, rows in enumerate(readings(5)):
        made = kept.families(rows, store, step * 15.0)
        earlier.append((made, render_text(made)))
    for made, text in earlier:
        assert render_text(made) == text
