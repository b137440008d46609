"""What a mapper keeps from reading to reading changes nothing that is exported."""

import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.catalogue.test_row_mapper import COLLECTOR, SMP

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.clock import Clock
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.epochs import EpochReading
from ase_exporter.metrics.exposition import render_text
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.saved_totals import encode
from ase_exporter.metrics.series_limits import limit_series

READ = load_yaml(Path(__file__).with_name("mapper_histories.yaml").read_text(encoding="utf-8"))
SHAPES: dict[str, dict[str, Any]] = READ["shapes"]
CLOCK = Clock(lambda: 0.0, lambda: 0.0)
Rows = list[tuple[Any, ...]]


def readings(seed: int) -> Iterator[Rows]:
    """Rows that grow, stay, wrap, are cleared, vanish, come back, change order, have NULLs and negative values."""
    chance = random.Random(seed)
    dates = [None, datetime(1900, 1, 1), datetime(2026, 1, 2, 3, 4), datetime(2026, 5, 6)]
    rows: list[list[Any]] = [
        [f'ü"{slot % 4}"\\', slot, "online", chance.randrange(1 << 40), chance.randrange(1 << 31), 0.1, dates[2]]
        for slot in range(9)
    ]  # fmt: skip
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


class Way:
    """One way to read the same table. renewed: the mapper is a new one each time."""

    def __init__(self, shape: str, *, renewed: bool = False) -> None:
        self.store = CounterStore()
        self._collector = {"help": "A table.", "table": "monX", "metrics": READ["metrics"], **SHAPES[shape]}
        self._renewed = renewed
        self._mapper: RowMapper | None = None
        self.made: list[tuple[list[Family], str]] = []

    def read(self, rows: Rows, epoch: EpochReading) -> list[Family]:
        if self._mapper is None or self._renewed:
            self._mapper = RowMapper("x", COLLECTOR.validate_python(self._collector), READ["columns"], SMP, 3)
        self.store.observe({None: epoch}, epoch.server_time)
        made = self._mapper.families(rows, self.store, epoch.server_time)
        self.made.append((made, render_text(made)))
        return made


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_mapper_that_is_kept_gives_the_text_of_a_new_one(shape: str, seed: int) -> None:
    plain, kept = Way(shape, renewed=True), Way(shape)
    chance, started, cleared = random.Random(seed), 0.0, 0.0
    for step, rows in enumerate(readings(seed)):
        now = step * 15.0
        started = now - 1 if chance.random() < 0.1 else started
        cleared = now - 1 if chance.random() < 0.1 else cleared
        epoch = EpochReading(started, cleared, now)
        expected, made = plain.read(rows, epoch), kept.read(rows, epoch)
        assert render_text(made) == render_text(expected)
        assert render_text(limit_series({"x": made}, 20)) == render_text(limit_series({"x": expected}, 20))
        assert kept.store.events == plain.store.events
        assert encode(kept.store, CLOCK) == encode(plain.store, CLOCK)
    # The families of a collector that is not due are exposed again.
    assert all(render_text(made) == text for made, text in kept.made)
