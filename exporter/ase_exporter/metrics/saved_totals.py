"""Saved totals: the counters of one target and module as bytes, for the next process that scrapes it.

They hold built-in types, dates and decimals only, and nothing else is accepted when they are read.
"""

import io
import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.counters import SavedTable, TableCounters

# Changes with the layout of the content; totals of a version that is not known here are not continued.
_MAGIC = b"ase-exporter totals 2\n"
# One pickle with all of it.
_MAGIC_1 = b"ase-exporter totals 1\n"
# Of a table: what stays the same from scrape to scrape.
_LASTING = ("keys", "series")
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


class LastingParts:
    """What need not be encoded in each scrape: tables that stand still, and keys and series of the others."""

    def __init__(self) -> None:
        self._encoded: dict[Any, tuple[Any, Any, int, bytes]] = {}
        self._still: dict[Any, tuple[TableCounters, int, bytes]] = {}

    def table(self, name: Any, table: TableCounters) -> SavedTable | bytes:
        """A table's state; encoded if it has not changed since it was asked for last.

        It is then of an earlier reading, from which counters continue as well.
        """
        last = self._still.get(name)
        if last is None or last[0] is not table or last[1] != table.changed_in:
            self._still[name] = (table, table.changed_in, b"")
            return table.saved()
        if not last[2]:
            last = self._still[name] = (table, table.changed_in, _packed(table.saved()))
        return last[2]

    def encoded(self, name: Any, table: SavedTable) -> bytes:
        """The lasting part of a table's state."""
        keys, series = (table[part] for part in _LASTING)
        last = self._encoded.get(name)
        # Series are only added to the same dict.
        if last is None or last[0] is not keys or last[1] is not series or last[2] != len(series):
            last = self._encoded[name] = (keys, series, len(series), _packed((keys, series)))
        return last[3]


def encode(
    server: str, state: Mapping[str, Any], clock: Clock = SYSTEM_CLOCK, lasting: LastingParts | None = None
) -> bytes:
    """The state of a `CounterStore` as bytes. server: which server it is of; another one does not continue it.

    lasting: kept by the caller from one state of a store to the next.
    """
    lasting = lasting or LastingParts()
    tables: Mapping[Any, SavedTable | bytes] = state.get("tables", {})
    parts: dict[Any, bytes] = {}
    rest: dict[Any, SavedTable | bytes] = {}
    for name, table in tables.items():
        if isinstance(table, bytes):
            rest[name] = table
        else:
            parts[name] = lasting.encoded(name, table)
            rest[name] = {part: value for part, value in table.items() if part not in _LASTING}
    content = (server, _boot_id(), clock.monotonic(), clock.time(), {**state, "tables": rest})
    packed = pickle.dumps((_packed(content), parts), pickle.HIGHEST_PROTOCOL)
    return _MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def _packed(content: object) -> bytes:
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)


def decode(content: bytes, server: str, clock: Clock = SYSTEM_CLOCK) -> tuple[dict[str, Any], float]:
    """The state, and the shift of its monotonic times to those of now. Raises TotalsError."""
    if not content.startswith((_MAGIC, _MAGIC_1)):
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
    rest, parts = _load(packed)
    of, boot_id, monotonic, at, state = _load(zlib.decompress(rest))
    tables = state.get("tables", {})
    for name, table in tables.items():
        if isinstance(table, bytes):
            tables[name] = _load(zlib.decompress(table))
    for name, part in parts.items():
        tables[name] |= zip(_LASTING, _load(zlib.decompress(part)), strict=True)
    return of, boot_id, monotonic, at, state


def _load(pickled: bytes) -> Any:
    return _Unpickler(io.BytesIO(pickled)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected")
        return super().find_class(module, name)


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
