"""Saved totals: the counters of one target and module as bytes, for the next process that scrapes it.

The bytes are MessagePack behind a checksum. Whoever reads them trusts nothing: types, lengths, signs and sizes are
checked against the schema below before anything is counted.
"""

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.counters import EVENT_KINDS, CounterStore, TableCounters
from ase_exporter.metrics.epochs import Count, Epochs

# Changes with the schema; totals of a version that is not known here are not continued.
_MAGIC = b"ase-exporter totals 7\n"
# Bytes; a target with more rows starts again with each process.
MAX_SIZE = 8 << 20
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class TotalsError(Exception):
    """Saved totals cannot be continued; the message says why."""


class _Store(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `CounterStore`, and when it was saved. final: nothing was counted after that."""

    boot_id: str
    monotonic: float
    at: float
    final: bool
    epochs: Epochs
    events: dict[str, Count]
    tables: dict[str, TableCounters]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Store)


def encode(store: CounterStore, clock: Clock = SYSTEM_CLOCK, *, final: bool = False) -> bytes:
    """The state of a store. Raises TotalsError if it cannot be written, as a number is beyond 64 bits.

    final: the store does not count any more, so that these totals are the last that anybody has seen.
    """
    content = _Store(
        _boot_id(), clock.monotonic(), clock.time(), final, store.epochs, store.events, store.tables
    )
    for table in store.tables.values():
        table.note_owners()
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
    if saved.boot_id != _boot_id() or saved.monotonic > clock.monotonic():
        # After a boot the monotonic clock begins anew; the wall clock says how long it has been.
        _shift(saved, clock.monotonic() - max(0.0, clock.time() - saved.at) - saved.monotonic)
    store.epochs, store.tables = saved.epochs, saved.tables
    store.events = Counter(saved.events)
    for table in saved.tables.values():
        table.may_lag = not saved.final


def _shift(saved: _Store, seconds: float) -> None:
    """Add to all monotonic times."""
    of = saved.epochs.instances
    of.update({each: known._replace(read_at=known.read_at + seconds) for each, known in of.items()})
    for table in saved.tables.values():
        table.read_at += seconds
        table.series_read = [at + seconds for at in table.series_read]
        rows = table.absent
        rows.update({key: gone._replace(seen_at=gone.seen_at + seconds) for key, gone in rows.items()})


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
    if not _finite([saved.monotonic, saved.at]):
        raise ValueError("a time is impossible")
    if not saved.events.keys() <= set(EVENT_KINDS):
        raise ValueError("unknown kinds of decreases")
    for name, table in saved.tables.items():
        _check_table(table, name)


def _check_table(table: TableCounters, name: str) -> None:
    """Raises ValueError unless all parts of a table fit together, and totals are possible."""
    columns, rows, series = len(table.widths), len(table.keys), len(table.labels)
    of_rows = [*table.values, *table.growth_of_rows]
    of_series = [*table.totals, table.series_read]
    gone = [row for _, row in table.absent.values()]
    numbers = [*of_rows, *of_series, *gone, [table.read_at, table.growth_seconds]]
    counts = {len(table.values), len(table.totals), len(table.growth_of_rows) or columns}
    fits = {
        "columns": counts == {columns} and all(len(row) == columns for row in gone),
        "rows": all(len(column) == rows for column in of_rows),
        "series": all(len(column) == series for column in of_series),
        "numbers": all(map(_finite, numbers)),
        "totals": all(min(column, default=0) >= 0 for column in table.totals),
        "keys": len(set(table.keys)) == rows and len(set(table.labels)) == series,
        "holes": all(at < columns for _, at in table.holes),
    }
    for part, fit in fits.items():
        if not fit:
            raise ValueError(f"{name}: impossible {part}")


def _finite(numbers: Sequence[float]) -> bool:
    return all(map(math.isfinite, numbers))


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
