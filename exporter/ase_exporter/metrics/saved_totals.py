"""Saved totals: the counters of one target and module as bytes, for the next process that scrapes it.

The bytes are MessagePack behind a checksum. Whoever reads them trusts nothing: types, lengths, signs and sizes are
checked against the schema below before anything is counted.
"""

import math
import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.counters import EVENT_KINDS, Absence, CounterStore, TableCounters, Width
from ase_exporter.metrics.epochs import Epochs, Mark, SavedEpochs

# Changes with the schema; totals of a version that is not known here are not continued.
_MAGIC = b"ase-exporter totals 1\n"
# Bytes; a target with more rows starts again with each process.
MAX_SIZE = 8 << 20
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_Cell = str | int | float | None
_Cells = tuple[_Cell, ...]
_Number = int | float
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Generation = int | float | str | None


class TotalsError(Exception):
    """Saved totals cannot be continued; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedTotals:
    """The totals of one module of a target. content: as `encode` makes it."""

    target: str
    module: str
    content: bytes


class _Array(msgspec.Struct, forbid_unknown_fields=True):
    """A column of numbers as they lie in memory."""

    kind: Literal["q", "d"]
    data: bytes


_Column = list[_Number] | _Array


class _Table(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `TableCounters`."""

    widths: tuple[Width, ...]
    reads: _Count
    read_at: float
    keys: list[_Cells]
    values: list[_Column]
    growth_of_rows: list[_Column]
    growth_seconds: float
    absent: list[tuple[_Cells, float, tuple[_Number, ...]]]
    forgotten: _Column
    generations: list[tuple[_Cells, _Generation]]
    labels: list[tuple[str, ...] | str]
    series_read: _Column
    totals: list[_Column]
    top_rows: list[tuple[_Cells, float]]
    latest: str | None
    seen: dict[int, _Count]
    marks: list[tuple[_Cell, tuple[_Count, _Count, _Count]]]
    holes: list[tuple[_Cells, _Count]] = []


class _Store(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `CounterStore`, and when it was saved."""

    boot_id: str
    monotonic: float
    at: float
    created: float | None
    epochs: SavedEpochs
    events: dict[str, _Count]
    tables: dict[str, _Table]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Store)


def encode(store: CounterStore, clock: Clock = SYSTEM_CLOCK) -> bytes:
    """The state of a store. Raises TotalsError if it cannot be written, as a number is beyond 64 bits."""
    content = _Store(
        _boot_id(),
        clock.monotonic(),
        clock.time(),
        store.created,
        store.epochs.saved(),
        dict(store.events),
        {name: _saved(table) for name, table in store.tables.items()},
    )
    try:
        packed = _encoder.encode(content)
    except OverflowError:
        raise TotalsError("too large to be saved") from None
    return _MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def check(content: bytes) -> None:
    """Raises TotalsError if the content cannot be continued by any store."""
    _decoded(content)


def restore(store: CounterStore, content: bytes, clock: Clock = SYSTEM_CLOCK) -> None:
    """Have a store continue with the state of another one. Raises TotalsError, with nothing changed."""
    saved = _decoded(content)
    shift = 0.0
    if saved.boot_id != _boot_id() or saved.monotonic > clock.monotonic():
        # After a boot the monotonic clock begins anew; the wall clock says how long it has been.
        shift = clock.monotonic() - max(0.0, clock.time() - saved.at) - saved.monotonic
    tables = {name: _restored(table, shift) for name, table in saved.tables.items()}
    store.created = saved.created
    store.epochs = Epochs.restored(saved.epochs, shift)
    store.events = Counter(saved.events)
    store.tables = tables


def _decoded(content: bytes) -> _Store:
    if len(content) > MAX_SIZE:
        raise TotalsError(f"larger than {MAX_SIZE >> 20} MiB")
    start = len(_MAGIC) + 4
    if not content.startswith(_MAGIC):
        raise TotalsError("no totals of this version")
    if zlib.crc32(content[start:]).to_bytes(4, "big") != content[len(_MAGIC) : start]:
        raise TotalsError("damaged")
    try:
        saved = _decoder.decode(memoryview(content)[start:])
        _check_store(saved)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise TotalsError(f"damaged ({error})") from None
    return saved


def _check_store(saved: _Store) -> None:
    """Raises ValueError for what the types do not exclude."""
    _require(_finite([saved.monotonic, saved.at, saved.created or 0.0]), "a time is impossible")
    _require(saved.events.keys() <= set(EVENT_KINDS), "unknown kinds of decreases")
    for name, table in saved.tables.items():
        _check_table(table, name)


def _check_table(table: _Table, name: str) -> None:
    """Raises ValueError unless all parts of a table fit together, and totals are possible."""
    columns, rows, series = len(table.widths), len(table.keys), len(table.labels)
    for part, length in ((table.values, rows), (table.totals, series)):
        _require(len(part) == columns, f"{name}: columns are missing")
        for column in part:
            _require(
                _length(column) == length and _finite(_numbers(column)), f"{name}: a column is impossible"
            )
    _require(not table.reads or columns == 0 or rows == 0 or bool(table.values), f"{name}: no values")
    _require(len(table.growth_of_rows) in (0, columns), f"{name}: the growth of columns is missing")
    for column in table.growth_of_rows:
        _require(_length(column) == rows and _finite(_numbers(column)), f"{name}: growth is impossible")
    _require(
        all(min(_numbers(column), default=0) >= 0 for column in table.totals), f"{name}: a total is negative"
    )
    _require(_length(table.series_read) == series, f"{name}: times of series are missing")
    _require(all(len(row) == columns and _finite(row) for _, _, row in table.absent), f"{name}: absent rows")
    _require(_finite([table.read_at, table.growth_seconds, *_numbers(table.series_read)]), f"{name}: times")
    _require(len(set(table.keys)) == rows and len(set(table.labels)) == series, f"{name}: duplicates")
    _require(all(at < columns for _, at in table.holes), f"{name}: holes")
    if table.latest is not None:
        datetime.fromisoformat(table.latest)
    for _, generation in table.generations:
        _generation_of(generation)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


def _saved(table: TableCounters) -> _Table:
    table.note_owners()
    return _Table(
        table.widths,
        table.reads,
        table.read_at,
        table.keys,  # type: ignore[arg-type]  # any sequence is written as a list
        list(map(_column, table.values)),
        list(map(_column, table.growth_of_rows)),
        table.growth_seconds,
        [(key, *absence) for key, absence in table.absent.items()],  # type: ignore[misc]
        _packed(array("q", table.forgotten)),
        [(key, _generation(value)) for key, value in table.generations.items()],  # type: ignore[misc]
        table.labels,  # type: ignore[arg-type]
        _packed(array("d", table.series_read)),
        list(map(_column, table.totals)),
        list(table.top_rows.items()),  # type: ignore[arg-type]
        table.latest.isoformat() if table.latest is not None else None,
        dict(table.seen),
        [(instance, tuple(mark)) for instance, mark in table.marks.items()],  # type: ignore[misc]
        list(table.holes),  # type: ignore[arg-type]
    )


def _restored(saved: _Table, shift: float) -> TableCounters:
    table = TableCounters(saved.widths)
    table.reads = saved.reads
    table.read_at = saved.read_at + shift
    table.keys = saved.keys
    table.values = list(map(_numbers, saved.values))
    table.growth_of_rows = list(map(_numbers, saved.growth_of_rows))
    table.growth_seconds = saved.growth_seconds
    table.absent = {key: Absence(at + shift, row) for key, at, row in saved.absent}
    table.forgotten = set(map(int, _numbers(saved.forgotten)))
    table.generations = {key: _generation_of(value) for key, value in saved.generations}
    table.labels = list(saved.labels)
    table.series_read = [at + shift for at in _numbers(saved.series_read)]
    table.totals = list(map(_numbers, saved.totals))
    table.top_rows = dict(saved.top_rows)
    table.latest = datetime.fromisoformat(saved.latest) if saved.latest is not None else None
    table.seen = Counter(saved.seen)
    table.marks = {instance: Mark(*mark) for instance, mark in saved.marks}
    table.holes = set(saved.holes)
    table.index()
    return table


def _column(column: Any) -> Any:
    """A list as it is, an array as bytes."""
    return (
        column
        if isinstance(column, list)
        else _Array("d" if column.dtype.kind == "f" else "q", column.tobytes())
    )


def _packed(numbers: "array[Any]") -> _Array:
    return _Array(numbers.typecode, numbers.tobytes())  # type: ignore[arg-type]


def _numbers(column: _Column) -> list[Any]:
    if isinstance(column, list):
        return column
    numbers = array(column.kind)
    numbers.frombytes(column.data)
    return numbers.tolist()


def _length(column: _Column) -> int:
    return len(column) if isinstance(column, list) else len(column.data) // 8


def _finite(numbers: Sequence[float]) -> bool:
    return all(map(math.isfinite, numbers))


def _generation(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _generation_of(saved: _Generation) -> object:
    return datetime.fromisoformat(saved) if isinstance(saved, str) else saved


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
