"""Formats arrays of numbers as `number_formatting.format_number` formats each.

Counters hold whole numbers from 0 to 2^53. Their sixteen digits, left-aligned, are looked up four at a time as
bytes of three 64-bit words, masked to the significant ones and completed with `.0` or `e+NN`. All of it is
arithmetic on whole arrays. Any other number is formatted by itself.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ase_exporter.metrics.number_formatting import format_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

# A larger batch would not stay in the processor's cache.
MAX_BATCH = 8192

_EXACT = 1 << 53
_DIGITS = 16
# Numbers with this many digits or more are written with an exponent.
_SCIENTIFIC = 7
_WIDTH = 24
_BYTE, _HALF = np.uint64(8), np.uint64(32)
_FIRST = np.uint64(0xFF)

_POWERS = 10 ** np.arange(_DIGITS + 1, dtype=np.uint64)
# By the biased binary exponent of a double: the decimal exponent of the smallest number that has it.
_DECIMAL_EXPONENTS = np.array([len(str(2 ** max(0, biased - 1023))) - 1 for biased in range(1023 + 54)])
_QUADS = np.array([b"%04d" % quad for quad in range(10_000)], "S4").view(np.uint32).astype(np.uint64)
# Trailing zeros of four digits.
_ZEROS = np.array([4 - len(f"{quad:04d}".rstrip("0")) for quad in range(10_000)])


def _words(texts: list[bytes]) -> "list[Words]":
    """The first, second and third eight bytes of each text, padded with zero bytes."""
    return list(np.array(texts, f"S{_WIDTH}").view(np.uint64).reshape(-1, _WIDTH // 8).T.copy())


def _digit_mask(digits: int, exponent: int) -> bytes:
    """Which bytes of the sixteen digits are kept; scientific notation leaves the second one to the point."""
    if exponent < _SCIENTIFIC - 1:
        return b"\xff" * (exponent + 1)
    return b"\xff\0" + b"\xff" * (digits - 1)


def _punctuation(digits: int, exponent: int) -> bytes:
    """The bytes between and after the digits."""
    if exponent < _SCIENTIFIC - 1:
        return b"\0" * (exponent + 1) + b".0"
    return (b"\0." + b"\0" * (digits - 1) if digits > 1 else b"\0") + b"e+%02d" % exponent


# Both tables are indexed by significant digits x exponent.
_SHAPES = [(digits, exponent) for digits in range(_DIGITS + 1) for exponent in range(_DIGITS)]
_MASKS = _words([_digit_mask(*shape) for shape in _SHAPES])
_PUNCTUATION = _words([_punctuation(*shape) for shape in _SHAPES])


def format_arrays(arrays: "Sequence[NDArray[Any]]", max_batch: int = MAX_BATCH) -> Iterator[list[bytes]]:
    """The text of each value, array by array.

    Consecutive short arrays of one type are formatted together: numpy takes about as long for one value as for
    a hundred.
    """
    batches = zip(_batch_numbers(arrays, max_batch), arrays, strict=True)
    for _, batch in groupby(batches, key=itemgetter(0)):
        members = [array for _, array in batch]
        texts = format_array(members[0] if len(members) == 1 else np.concatenate(members))
        ends = [0, *accumulate(map(len, members))]
        yield from (texts[start:end] for start, end in pairwise(ends))


def _batch_numbers(arrays: "Sequence[NDArray[Any]]", max_batch: int) -> Iterator[int]:
    """The number of the batch that each array belongs to."""
    batch = count = 0
    for previous, array in pairwise([arrays[0], *arrays]):
        count += len(array)
        if array.dtype != previous.dtype or count > max_batch:
            batch, count = batch + 1, len(array)
        yield batch


def format_array(values: "NDArray[np.int64] | NDArray[np.float64]") -> list[bytes]:
    """The text of each value, in order."""
    whole = (values >= 0) & (values < _EXACT)
    if values.dtype.kind == "f":
        whole &= (values == np.floor(values)) & ~np.signbit(values)
    if whole.all():
        return _format_whole(values.astype(np.int64, copy=False))
    texts = [b""] * len(values)
    whole_texts = _format_whole(values[whole].astype(np.int64))
    for index, text in zip(np.flatnonzero(whole).tolist(), whole_texts, strict=True):
        texts[index] = text
    for index in np.flatnonzero(~whole).tolist():
        texts[index] = format_number(values[index].item()).encode()
    return texts


def _format_whole(values: "NDArray[np.int64]") -> list[bytes]:
    """The text of whole numbers from 0 to 2^53."""
    left_aligned = values.astype(np.uint64)
    exponent = _DECIMAL_EXPONENTS.take(values.astype(np.float64).view(np.int64) >> 52)
    exponent += left_aligned >= _POWERS.take(exponent + 1)
    left_aligned *= _POWERS.take(_DIGITS - 1 - exponent)
    high = left_aligned // np.uint64(10**8)
    low = left_aligned - high * np.uint64(10**8)
    quads = [*_halves(high), *_halves(low)]
    zeros = _ZEROS.take(quads[0])
    for quad in quads[1:]:
        more = _ZEROS.take(quad)
        zeros = np.where(more == 4, zeros + 4, more)
    first = _QUADS.take(quads[0]) | _QUADS.take(quads[1]) << _HALF
    second = _QUADS.take(quads[2]) | _QUADS.take(quads[3]) << _HALF
    # Makes space for the point after the first digit.
    shift = np.where(exponent >= _SCIENTIFIC - 1, _BYTE, np.uint64(0))
    lone = first & _FIRST
    spread = (
        (first ^ lone) << shift | lone,
        second << shift | _carried(first, shift),
        _carried(second, shift),
    )
    shape = (_DIGITS - zeros) * _DIGITS + exponent
    words = np.empty((len(values), _WIDTH // 8), np.uint64)
    for index, (digits, mask, punctuation) in enumerate(zip(spread, _MASKS, _PUNCTUATION, strict=True)):
        words[:, index] = digits & mask.take(shape) | punctuation.take(shape)
    texts: list[bytes] = words.view(f"S{_WIDTH}").ravel().tolist()
    return texts


def _halves(eight: "Words") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Eight digits as two numbers of four digits."""
    high = eight // np.uint64(10**4)
    return high.astype(np.int64), (eight - high * np.uint64(10**4)).astype(np.int64)


def _carried(word: "Words", shift: "Words") -> "Words":
    """The byte that a shift by eight bits pushes out of a word; zero for no shift."""
    return np.where(shift > 0, word >> np.uint64(56), np.uint64(0))
