"""Large tables, which come as arrays, give the same text as the same rows one by one."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.exporter.catalogue import shapes
from tests.exporter.catalogue.shapes import SHAPES

from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.metrics.columns import MIN_ARRAY_ROWS, Columns, TextColumn
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.exposition import render_openmetrics, render_text
from ase_exporter.metrics.families import SampleArray
from ase_exporter.metrics.series_limits import limit_series

COLUMNS = {
    "Name": "varchar",
    "Slot": "int",
    "Grabs": "bigint",
    "Waits": "int",
    "Pages": "bigint",
    "Ms": "bigint",
}
METRICS = {
    "ase_x_grabs_total": {"help": "Counted.", "column": "Grabs"},
    "ase_x_time_seconds_total": {
        "help": "Timed.",
        "by": "mode",
        "columns": {"user": "Waits", "system": "Ms"},
        "unit": "milliseconds",
    },
    "ase_x_bytes": {"help": "Held.", "column": "Pages", "unit": "server pages"},
    "ase_x_rows": {"help": "Rows.", "count": True},
}


def reader(shape: str) -> RowMapper:
    return shapes.mapper(COLUMNS, METRICS, 5, SHAPES[shape])


def as_table(rows: Sequence[Sequence[Any]]) -> Columns:
    """As the driver's memory gives it: arrays but where there are NULLs."""
    names, *numbers = (list(column) for column in zip(*rows, strict=True))
    units = [name.encode("utf-16-le") for name in names]
    width = max(map(len, units)) // 2 + 2
    memory = np.frombuffer(b"".join(unit.ljust(2 * width, b"\0") for unit in units), "<u2")
    texts = TextColumn(memory.reshape(-1, width), np.array([len(unit) // 2 for unit in units]))
    return Columns(
        [texts, *(column if None in column else np.array(column) for column in numbers)], len(rows)
    )


def history(seed: int) -> list[list[tuple[Any, ...]]]:
    """Readings of a table that grows, wraps, is cleared, loses rows and gets them back, and has NULLs."""
    chance = random.Random(seed)
    values = [[chance.randrange(1 << 31) for _ in range(4)] for _ in range(MIN_ARRAY_ROWS + 20)]
    readings = []
    for step in range(12):
        for row in values:
            for place in range(4):
                row[place] += chance.choice([0, 1, 999, 1_000_000])
            if step == 5 or chance.random() < 0.01:
                row[:] = [0] * 4
        rows: list[tuple[str, int, int | None, int, int, int]] = [
            (f'spin "{slot % 50}" ü', slot, grabs, waits % (1 << 31), pages, ms)
            for slot, (grabs, waits, pages, ms) in enumerate(values)
            if not (step in (3, 4) and slot % 7 == 0)
        ]
        if step in (7, 8):
            rows = [(*row[:2], None, *row[3:]) if row[1] % 5 == 0 else row for row in rows]
        readings.append(rows)
    return readings


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mixed", [False, True])
def test_arrays_give_the_text_that_rows_give(shape: str, mixed: bool) -> None:
    one, other = reader(shape), reader(shape)
    plain, arrays = CounterStore(), CounterStore()
    for step, rows in enumerate(history(seed=1)):
        expected = one.families(rows, plain, step * 15.0)
        made = other.families(rows if mixed and step % 3 == 0 else as_table(rows), arrays, step * 15.0)
        assert render_text(made) == render_text(expected)
        assert plain.events == arrays.events
    assert render_openmetrics(made) == render_openmetrics(expected)
    assert render_text(limit_series({"x": made}, 100)) == render_text(limit_series({"x": expected}, 100))


def test_large_tables_stay_arrays_if_every_row_has_its_own_series() -> None:
    """What makes it quick: arrays from the driver to the text."""
    read, store = reader("a series a row"), CounterStore()
    for step, rows in enumerate(history(seed=2)[:2]):
        made = read.families(as_table(rows), store, step * 15.0)
    assert [type(family.samples) for family in made if family.name == "ase_x_grabs_total"] == [SampleArray]
