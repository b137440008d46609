"""Saved totals: the counters of one target and module as bytes, for the next process that scrapes it.

They hold built-in types, dates and decimals only, and nothing else is accepted when they are read.
"""

import io
import pickle
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.counters import SavedTable, TableCounters

# Changes with the layout of the content; totals of a version that is not known here are not continued.
_MAGIC = b"ase-exporter totals 3\n"
# Encoded tables among the others.
_MAGIC_2 = b"ase-exporter totals 2\n"
# One pickle with all of it.
_MAGIC_1 = b"ase-exporter totals 1\n"
# Of a table: what stays the same from scrape to scrape.
_LASTING = ("keys", "series")
# A table with this many rows is encoded by itself at once, as many are not read in each scrape, and not compressed,
# as its columns are `packed`.
_LARGE = 1000
_ALLOWED = frozenset({("datetime", "datetime"), ("datetime", "date"), ("decimal", "Decimal")})
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class TotalsError(Exception):
    """Saved totals cannot be continued; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedTotals:
    """The totals of one module of a target. content: as `encode` makes it."""

    target: str
    module: str
    content: bytes


# The keys and series of a table, encoded, and the rest of its state, encoded or not.
_Parts = tuple[bytes, SavedTable | bytes]


@dataclass(slots=True)
class _LastParts:
    """What was encoded of a table last. changed_in: see TableCounters; rest: b'' if it was not encoded by itself."""

    table: TableCounters | SavedTable
    changed_in: int = -1
    keys: object = None
    series: Any = None
    series_count: int = 0
    lasting: bytes = b""
    rest: bytes = b""


class LastingParts:
    """What need not be encoded in each scrape: tables that stand still, and keys and series of the others."""

    def __init__(self) -> None:
        self._of: dict[Any, _LastParts] = {}

    def parts(self, name: Hashable, table: TableCounters | SavedTable) -> _Parts:
        """The parts of a table's state. One that has not changed since the last call is of an earlier reading."""
        last = self._of.get(name)
        if last is None or last.table is not table:
            last = self._of[name] = _LastParts(table)
        changed_in = table.changed_in if isinstance(table, TableCounters) else 0
        stands_still = last.changed_in == changed_in
        if stands_still and last.rest:
            return last.lasting, last.rest
        state = table.saved() if isinstance(table, TableCounters) else table
        keys, series = (state[part] for part in _LASTING)
        # Series are only added to the same dict.
        if last.keys is not keys or last.series is not series or last.series_count != len(series):
            last.keys, last.series, last.series_count = keys, series, len(series)
            last.lasting = _packed((keys, series))
        rest = {part: value for part, value in state.items() if part not in _LASTING}
        last.changed_in = changed_in
        large = len(keys) >= _LARGE
        last.rest = _packed(rest, level=0 if large else 1) if stands_still or large else b""
        return last.lasting, last.rest or rest


def encode(server: str, state: Mapping[str, Any], clock: Clock = SYSTEM_CLOCK) -> bytes:
    """The state of a `CounterStore` as bytes. server: which server it is of; another one does not continue it."""
    tables: Mapping[Any, SavedTable | _Parts] = state.get("tables", {})
    nothing_lasts = LastingParts()
    parts = {
        name: table if isinstance(table, tuple) else nothing_lasts.parts(name, table)
        for name, table in tables.items()
    }
    lasting = {name: lasting for name, (lasting, _) in parts.items()}
    encoded = {name: rest for name, (_, rest) in parts.items() if isinstance(rest, bytes)}
    others = {name: rest for name, (_, rest) in parts.items() if not isinstance(rest, bytes)}
    content = (server, _boot_id(), clock.monotonic(), clock.time(), {**state, "tables": others})
    packed = pickle.dumps((_packed(content), lasting, encoded), pickle.HIGHEST_PROTOCOL)
    return _MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def _packed(content: object, level: int = 1) -> bytes:
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), level)


def decode(content: bytes, server: str, clock: Clock = SYSTEM_CLOCK) -> tuple[dict[str, Any], float]:
    """The state, and the shift of its monotonic times to those of now. Raises TotalsError."""
    if not content.startswith((_MAGIC, _MAGIC_2, _MAGIC_1)):
        raise TotalsError("written by another version")
    packed = content[len(_MAGIC) + 4 :]
    if zlib.crc32(packed).to_bytes(4, "big") != content[len(_MAGIC) : len(_MAGIC) + 4]:
        raise TotalsError("damaged")
    try:
        of, boot_id, monotonic, at, state = _unpacked(packed, content.startswith(_MAGIC_1))
    except (
        zlib.error,
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ) as error:
        raise TotalsError(f"damaged ({type(error).__name__})") from error
    if of != server:
        raise TotalsError("of another server")
    if boot_id == _boot_id() and monotonic <= clock.monotonic():
        return state, 0.0
    # After a boot the monotonic clock begins anew; the wall clock says how long it has been.
    return state, clock.monotonic() - max(0.0, clock.time() - at) - monotonic


def _unpacked(packed: bytes, as_one: bool) -> tuple[str, str, float, float, dict[str, Any]]:
    if as_one:
        whole: tuple[str, str, float, float, dict[str, Any]] = _load(zlib.decompress(packed))
        return whole
    rest, parts, *encoded = _load(packed)
    of, boot_id, monotonic, at, state = _load(zlib.decompress(rest))
    tables = state.get("tables", {})
    tables.update(*encoded)
    for name, part in parts.items():
        if isinstance(tables[name], bytes):
            tables[name] = _load(zlib.decompress(tables[name]))
        tables[name] |= zip(_LASTING, _load(zlib.decompress(part)), strict=True)
    return of, boot_id, monotonic, at, state


def _load(pickled: bytes) -> Any:
    return _Unpickler(io.BytesIO(pickled)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected")
        return super().find_class(module, name)


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
