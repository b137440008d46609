"""Many numbers as text at once, each as `families.number` writes it.

Whole numbers from 0 to 2^53 are what counters hold: their sixteen digits, the first one leading, are looked up
four at a time as bytes of three 64-bit words, cut to size with a mask, and completed with `.0` or `e+NN`. All
is arithmetic on whole columns. Every other number goes by itself.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ase_exporter.families import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

# Beyond so many, columns are better off by themselves: together they would not stay in the processor's cache.
_AT_ONCE = 8192

_EXACT = 1 << 53
_DIGITS = 16
# Numbers of so many digits have an exponent.
_SCIENTIFIC = 7
_WIDTH = 24
_BYTE, _HALF = np.uint64(8), np.uint64(32)
_FIRST = np.uint64(0xFF)

_POWERS = 10 ** np.arange(_DIGITS + 1, dtype=np.uint64)
# By the biased exponent of a double: the decimal exponent of the least number that has it.
_LEAST = np.array([len(str(2 ** max(0, biased - 1023))) - 1 for biased in range(1023 + 54)])
_QUADS = np.array([b"%04d" % quad for quad in range(10_000)], "S4").view(np.uint32).astype(np.uint64)
# Zeros at the end of four digits.
_ZEROS = np.array([4 - len(f"{quad:04d}".rstrip("0")) for quad in range(10_000)])


def _words(texts: list[bytes]) -> "list[Words]":
    """The first, second and third eight bytes of each text, zero behind its end."""
    return list(np.array(texts, f"S{_WIDTH}").view(np.uint64).reshape(-1, _WIDTH // 8).T.copy())


def _kept(digits: int, exponent: int) -> bytes:
    """Which bytes of the sixteen digits stay; in scientific notation the second place is the point's."""
    if exponent < _SCIENTIFIC - 1:
        return b"\xff" * (exponent + 1)
    return b"\xff\0" + b"\xff" * (digits - 1)


def _added(digits: int, exponent: int) -> bytes:
    """What stands between and behind them."""
    if exponent < _SCIENTIFIC - 1:
        return b"\0" * (exponent + 1) + b".0"
    return (b"\0." + b"\0" * (digits - 1) if digits > 1 else b"\0") + b"e+%02d" % exponent


# By significant digits x exponent.
_ALL = [(digits, exponent) for digits in range(_DIGITS + 1) for exponent in range(_DIGITS)]
_KEPT = _words([_kept(*each) for each in _ALL])
_ADDED = _words([_added(*each) for each in _ALL])


def numerals_of(columns: "Sequence[NDArray[Any]]") -> Iterator[list[bytes]]:
    """The text of each value, column by column. Short columns of one type that follow each other go together: numpy
    takes about as long for one value as for a hundred."""
    for _, group in groupby(zip(_batches(columns), columns, strict=True), key=itemgetter(0)):
        same = [column for _, column in group]
        texts = numerals(same[0] if len(same) == 1 else np.concatenate(same))
        ends = [0, *accumulate(map(len, same))]
        yield from (texts[start:end] for start, end in pairwise(ends))


def _batches(columns: "Sequence[NDArray[Any]]") -> Iterator[int]:
    """Which batch each column belongs to."""
    batch = count = 0
    for before, column in pairwise([columns[0], *columns]):
        count += len(column)
        if column.dtype != before.dtype or count > _AT_ONCE:
            batch, count = batch + 1, len(column)
        yield batch


def numerals(values: "NDArray[np.int64] | NDArray[np.float64]") -> list[bytes]:
    """The text of each value, in order."""
    whole = (values >= 0) & (values < _EXACT)
    if values.dtype.kind == "f":
        whole &= (values == np.floor(values)) & ~np.signbit(values)
    if whole.all():
        return _whole(values.astype(np.int64, copy=False))
    texts = [b""] * len(values)
    for place, text in zip(
        np.flatnonzero(whole).tolist(), _whole(values[whole].astype(np.int64)), strict=True
    ):
        texts[place] = text
    for place in np.flatnonzero(~whole).tolist():
        texts[place] = number(values[place].item()).encode()
    return texts


def _whole(values: "NDArray[np.int64]") -> list[bytes]:
    """From 0 to 2^53."""
    left = values.astype(np.uint64)
    exponent = _LEAST.take(values.astype(np.float64).view(np.int64) >> 52)
    exponent += left >= _POWERS.take(exponent + 1)
    left *= _POWERS.take(_DIGITS - 1 - exponent)
    high = left // np.uint64(10**8)
    low = left - high * np.uint64(10**8)
    quads = [*_halves(high), *_halves(low)]
    zeros = _ZEROS.take(quads[0])
    for quad in quads[1:]:
        more = _ZEROS.take(quad)
        zeros = np.where(more == 4, zeros + 4, more)
    first = _QUADS.take(quads[0]) | _QUADS.take(quads[1]) << _HALF
    second = _QUADS.take(quads[2]) | _QUADS.take(quads[3]) << _HALF
    # Room for the point behind the first digit.
    shift = np.where(exponent >= _SCIENTIFIC - 1, _BYTE, np.uint64(0))
    lone = first & _FIRST
    spread = (
        (first ^ lone) << shift | lone,
        second << shift | _carried(first, shift),
        _carried(second, shift),
    )
    shape = (_DIGITS - zeros) * _DIGITS + exponent
    words = np.empty((len(values), _WIDTH // 8), np.uint64)
    for place, (digits, kept, added) in enumerate(zip(spread, _KEPT, _ADDED, strict=True)):
        words[:, place] = digits & kept.take(shape) | added.take(shape)
    texts: list[bytes] = words.view(f"S{_WIDTH}").ravel().tolist()
    return texts


def _halves(eight: "Words") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Eight digits as two numbers of four."""
    high = eight // np.uint64(10**4)
    return high.astype(np.int64), (eight - high * np.uint64(10**4)).astype(np.int64)


def _carried(word: "Words", shift: "Words") -> "Words":
    """What a shift by one byte, or by none, pushes out at the end."""
    return np.where(shift > 0, word >> np.uint64(56), np.uint64(0))
