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

# Changes with the layout of the content; totals of another version are not continued.
_MAGIC = b"ase-exporter totals 1\n"
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


def encode(server: str, state: Mapping[str, Any], clock: Clock = SYSTEM_CLOCK) -> bytes:
    """The state of a `CounterStore` as bytes. server: which server it is of; another one does not continue it."""
    content = (server, _boot_id(), clock.monotonic(), clock.time(), dict(state))
    packed = zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)
    return _MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def decode(content: bytes, server: str, clock: Clock = SYSTEM_CLOCK) -> tuple[dict[str, Any], float]:
    """The state, and the shift of its monotonic times to those of now. Raises TotalsError."""
    packed = content[len(_MAGIC) + 4 :]
    checksum = content[len(_MAGIC) : len(_MAGIC) + 4]
    if not content.startswith(_MAGIC):
        raise TotalsError("written by another version")
    if zlib.crc32(packed).to_bytes(4, "big") != checksum:
        raise TotalsError("damaged")
    try:
        of, boot_id, monotonic, at, state = _Unpickler(io.BytesIO(zlib.decompress(packed))).load()
    except (zlib.error, pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise TotalsError(f"damaged ({type(error).__name__})") from error
    if of != server:
        raise TotalsError("of another server")
    if boot_id == _boot_id() and monotonic <= clock.monotonic():
        return state, 0.0
    # After a boot the monotonic clock begins anew; the wall clock says how long it has been.
    return state, clock.monotonic() - max(0.0, clock.time() - at) - monotonic


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
