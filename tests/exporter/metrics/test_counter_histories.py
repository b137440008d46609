"""Over random histories of a server's counters, exported totals grow by the truth or less, never by more."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import ge
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ase_exporter.metrics import counters
from ase_exporter.metrics.counters import CounterStore, TableCounters, Width
from ase_exporter.metrics.epochs import EpochReading, Identity, Instance

# How a server shows its counters: column type, modulus, and the value from which it shows them as negative.
KINDS: dict[str, tuple[Width, int | None, int | None]] = {
    "int to zero": ("int", 1 << 31, None),
    "int to negative": ("int", 1 << 32, 1 << 31),
    "unsigned int": ("unsigned int", 1 << 32, None),
    "unsigned int as pyodbc gives it": ("unsigned int", 1 << 32, 1 << 31),
    "bigint": ("wide", None, None),
}
# Calm rows stay within this factor of their pace, so that the edge is the one explanation of their wraps.
CALM = (0.5, 2.0)
COLUMNS = 2


@dataclass
class Row:
    """A row of the server: the true growth since its birth, and the pace per second of each column.

    unseen: growth since it was last shown. doubtful: what happened since then cannot be known from outside.
    """

    values: list[int]
    pace: list[int]
    visible: bool = True
    unseen: int = 0
    doubtful: bool = False


@dataclass
class Reading:
    """One scrape: what the server shows, and what truly happened since the reading before."""

    now: float
    rows: dict[int, tuple[int, ...]]
    growth: dict[int, list[int]] = field(default_factory=dict)
    started: float = 0.0
    cleared: float = 0.0
    doubtful: set[int] = field(default_factory=set)


def shown(kind: str, value: int) -> int:
    _, modulus, negative_from = KINDS[kind]
    if modulus is None:
        return value
    value %= modulus
    return value - modulus if negative_from is not None and value >= negative_from else value


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[Reading]]:
    """A kind of counter and its readings."""
    kind = draw(st.sampled_from(list(KINDS)))
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    modulus = KINDS[kind][1]
    rows: list[Row] = []
    for _ in range(draw(st.integers(1, 3))):
        edge = chance.choice([0, 1 << 20, (1 << 31) - 5_000, (1 << 32) - 5_000, 1 << 31])
        start = [(edge + chance.randrange(4_000)) % (modulus or 1 << 63) for _ in range(COLUMNS)]
        rows.append(Row(start, [chance.choice([1, 50, 10_000, 4_000_000]) for _ in range(COLUMNS)]))
    now, started, cleared = 1_000.0, 0.0, 0.0
    readings: list[Reading] = []
    events = st.sampled_from(["", "", "", "", "restart", "clear", "hide", "rebirth"])
    for step, event in enumerate(["", "", *draw(st.lists(events, max_size=8))]):
        elapsed = chance.choice([1, 5, 15, 15, 15, 60]) if step else 0
        now += elapsed
        reading, has_fallen = Reading(now, {}), list[bool]()
        for number, row in enumerate(rows):
            first = number == 0
            before = [shown(kind, value) for value in row.values]
            if event in ("restart", "clear") or (event == "rebirth" and first):
                row.values = [0] * COLUMNS
                row.doubtful |= not row.visible or event == "rebirth"
            if event in ("hide", "rebirth") and first:
                row.visible = False
            elif not row.visible:
                row.visible = chance.random() < 0.5
            grown = [int(pace * elapsed * chance.uniform(*CALM)) for pace in row.pace]
            if modulus is not None:
                grown = [min(part, (1 << 31) - 1) for part in grown]
            row.values = [value + part for value, part in zip(row.values, grown, strict=True)]
            row.unseen += max(grown)
            after = [shown(kind, value) for value in row.values]
            # A clear that is overtaken by new growth leaves no trace, as does a wrap by a whole range; and a
            # row that was away and is lower may have wrapped or be a new one.
            row.doubtful |= event == "clear" and any(map(ge, after, before))
            row.doubtful |= modulus is not None and row.unseen >= 1 << 31
            row.doubtful |= not row.visible and modulus is not None
            reading.growth[number] = grown
            if row.visible:
                has_fallen += [now < was for was, now in zip(before, after, strict=True)]
                reading.rows[number] = tuple(after)
                reading.doubtful |= {number} if row.doubtful else set()
                row.unseen, row.doubtful = 0, False
        if event == "restart":
            started = now - elapsed / 2
            # Counters that have not fallen do not agree with a young server.
            if not all(has_fallen):
                reading.doubtful |= set(reading.rows)
        cleared = now if event == "clear" else cleared
        reading.started, reading.cleared = started, cleared
        readings.append(reading)
    return kind, readings


def observe(store: CounterStore, reading: Reading) -> None:
    """What monState says at that time."""
    store.observe({None: EpochReading(reading.started, reading.cleared, reading.now)}, reading.now)


def replay(kind: str, readings: list[Reading]) -> Iterator[tuple[Reading, list[list[float]]]]:
    """Totals per row and column after each reading."""
    store = CounterStore()
    for reading in readings:
        observe(store, reading)
        table = store.table("table", [KINDS[kind][0]] * COLUMNS)
        numbers = list(reading.rows)
        columns: list[list[float | None]] = [
            [reading.rows[number][column] for number in numbers] for column in range(COLUMNS)
        ]
        deltas = table.growth([(number,) for number in numbers], columns, reading.now)
        table.add([table.series(str(number)) for number in numbers], deltas)
        yield reading, [[totals[table.series(str(number))] for totals in table.totals] for number in range(3)]


def check_truth(history: tuple[str, list[Reading]]) -> None:
    """Growth of every total is the true growth, as far as it could be seen."""
    before: list[list[float]] | None = None
    owed = [[0] * COLUMNS for _ in range(3)]
    paced: set[int] = set()
    for reading, totals in replay(*history):
        for number, growth in reading.growth.items():
            owed[number] = [debt + part for debt, part in zip(owed[number], growth, strict=True)]
            if number not in reading.rows:
                continue
            if before is not None:
                grown = [now - was for now, was in zip(totals[number], before[number], strict=True)]
                if number in reading.doubtful or number not in paced:
                    assert all(0 <= part <= debt for part, debt in zip(grown, owed[number], strict=True))
                else:
                    assert grown == owed[number]
            owed[number] = [0] * COLUMNS
        paced |= set(reading.rows) if before is not None else set()
        before = totals


EXAMPLES = [150, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("examples", EXAMPLES)
def test_growth_is_the_truth_where_it_can_be_known(examples: int) -> None:
    settings(max_examples=examples)(given(histories())(check_truth))()


def _as_a_naive_exporter(
    self: TableCounters, key: object, before: tuple[int, ...], row: tuple[int, ...], _: float, *, sums: bool
) -> list[int]:
    return [now if now < was else now - was for was, now in zip(before, row, strict=True)]


def test_these_histories_find_the_faults_of_raw_values() -> None:
    with patch.object(TableCounters, "_explain_fall", _as_a_naive_exporter), pytest.raises(AssertionError):
        settings(max_examples=150, report_multiple_bugs=False)(given(histories())(check_truth))()


INSTANCES: list[list[Instance]] = [[None], [0, 1]]
SEEDS = [300, pytest.param(50_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("seeds", SEEDS)
def test_after_a_failover_nothing_counts_but_what_grew_since(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever rows come and go, with unknown cells, as sums that have dipped, and of instances without rows."""
    for seed in range(seeds):
        chance, store, keys = random.Random(seed), CounterStore(), [(f"row{at}", at % 2) for at in range(4)]
        sums, instances = chance.random() < 0.5, chance.choice(INSTANCES)
        monkeypatch.setattr(counters, "MAX_ABSENT_ROWS", chance.choice([1, 20_000]))
        for step in range(20):
            now = step * 15.0
            if step % 5 == 0:
                starts = {each: EpochReading(-1e6 - step, -1e6, now) for each in instances}
                store.identify(Identity(f"S{step}"), starts, now)
                rows = since = {
                    key: [chance.randrange(10 ** chance.choice([1, 9])) for _ in "ab"] for key in keys
                }
                grown = {key: [0.0, 0.0] for key in keys}
            rows = {key: [value + chance.randrange(999) for value in row] for key, row in rows.items()}
            present = [key for key in keys if not step or chance.random() < 0.7]
            lowered = 2 if sums and step % 5 == 4 else 1
            columns = [
                [None if chance.random() < 0.1 else rows[key][at] // lowered for key in present]
                for at in (0, 1)
            ]
            table = store.table("t", ["wide", "wide"], by_instance=len(instances) > 1)
            for at, column in enumerate(table.growth(present, columns, now, sums=sums)):
                for key, growth in zip(present, column, strict=True):
                    grown[key][at] += growth
                    assert growth >= 0 and grown[key][at] <= rows[key][at] - since[key][at], (seed, step, key)
