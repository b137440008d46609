"""Columns: a result set held by column, and the arithmetic on columns that counters need.

Columns of many rows are numpy arrays (or `TextColumn`), which handle a thousand values at the price of one.
Columns of few rows are plain lists, and numpy, which costs 15 MB, is then not even imported. Without numpy (the extra
`arrays`), all columns are lists.
"""

import logging
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import sub
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ase_exporter.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

# One row of a result set, in select order.
Row = Sequence[Any]

# From this many rows on, columns are arrays if their type allows it.
MIN_ARRAY_ROWS = 1000
# Sums and differences of smaller integers fit into 64 bits; larger ones are kept as Python integers.
SAFE = 1 << 62


@cache
def has_arrays() -> bool:
    """Whether numpy is installed; says once in a process what is missing without it."""
    try:
        import numpy  # noqa: F401
    except ModuleNotFoundError:
        without = "verdicts on changes, and large tables at a fifth of the CPU, need numpy"
        log.warning("%s", MissingExtraError(without, "arrays"))
        return False
    return True


class TextColumn:
    """A column of many strings as received: UTF-16 units (rows x width, zero-padded) and units per row."""

    __slots__ = ("_lengths", "_units")

    def __init__(self, units: "NDArray[np.uint16]", lengths: "NDArray[np.int64]") -> None:
        self._lengths = lengths
        # Columns are often declared much wider than their content.
        self._units = units[:, : int(lengths.max(initial=0))].copy()

    def tolist(self) -> list[str | None]:
        """The strings, None for NULL."""
        count, width = self._units.shape
        text = self._units.tobytes().decode("utf-16-le", "replace")
        lengths = self._lengths.tolist()
        if len(text) == count * width:
            starts = range(0, count * width, width) if width else [0] * count
            return [
                None if length < 0 else text[start : start + length]
                for start, length in zip(starts, lengths, strict=True)
            ]
        # Some characters take two units, so positions in `text` are not multiples of the width.
        return [
            None if length < 0 else row[:length].tobytes().decode("utf-16-le", "replace")
            for row, length in zip(self._units, lengths, strict=True)
        ]

    def same(self, other: "TextColumn") -> bool:
        """Whether the other column has the same strings in the same order."""
        return (
            self._units.shape == other._units.shape
            and bool((self._lengths == other._lengths).all())
            and bool((self._units == other._units).all())
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """One result set. columns: in select order, NULL as None (arrays have none). length: number of rows.

    names: of the columns, as the server gives them; empty if not known.
    """

    columns: "Sequence[list[Any] | NDArray[Any] | TextColumn]"
    length: int
    names: tuple[str, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Row], width: int) -> "Columns":
        """Columns from rows of `width` cells."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        return cls(columns or [[] for _ in range(width)], len(columns[0]) if columns else 0)

    def __len__(self) -> int:
        return self.length

    def listed(self, index: int) -> list[Any]:
        """One column as a list of Python values."""
        return listed(self.columns[index])

    def only(self, indexes: Collection[int]) -> "Columns":
        """These columns; the others are left empty."""
        return Columns(
            [column if at in indexes else [] for at, column in enumerate(self.columns)], self.length
        )

    def rows(self, indexes: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """The rows as tuples, with all columns or only these."""
        wanted = range(len(self.columns)) if indexes is None else indexes
        return list(zip(*map(self.listed, wanted), strict=True)) if wanted else [()] * self.length


def column_names(result: "Columns | Sequence[Row]") -> tuple[str, ...]:
    """The names that the server gave to the columns of a result; empty for no rows, or if not known."""
    if isinstance(result, Columns):
        return result.names
    description = getattr(result[0], "cursor_description", ()) if result else ()
    return tuple([column[0] for column in description])


class PackedNumbers(msgspec.Struct, forbid_unknown_fields=True):
    """An array as it lies in memory, to be saved. kind: as `array.array` has it."""

    kind: Literal["q", "d"]
    data: bytes

    @classmethod
    def of(cls, numbers: "NDArray[Any]") -> "PackedNumbers":
        """All numbers of an array."""
        return cls("d" if numbers.dtype.kind == "f" else "q", numbers.tobytes())

    def tolist(self) -> list[Any]:
        """The numbers. Raises ValueError if the last one is torn."""
        numbers = array(self.kind)
        numbers.frombytes(self.data)
        return numbers.tolist()


def listed(column: Any) -> list[Any]:
    """A column as a list of Python values."""
    return column if isinstance(column, list) else column.tolist()


def same(one: Any, other: Any) -> bool:
    """Whether two columns have the same values in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return bool(one == other)
    if isinstance(one, TextColumn):
        return bool(one.same(other))
    return one.shape == other.shape and bool((one == other).all())


def joined(columns: Sequence[Any]) -> Any:
    """Columns one after the other, as a list if one of them is a list."""
    if len(columns) == 1:
        return columns[0]
    if any(isinstance(column, list) for column in columns):
        return [value for column in columns for value in listed(column)]
    import numpy as np

    return np.concatenate(columns)


def cell(column: Any, index: int) -> Any:
    """One value of a column, as a Python value."""
    return column[index] if isinstance(column, list) else column.item(index)


def at_indexes(column: Any, indexes: Any) -> Any:
    """A copy of a column with the values at these indexes, in their order."""
    return [column[index] for index in indexes] if isinstance(column, list) else column[indexes]


def row_at(columns: Sequence[Any], index: int) -> tuple[Any, ...]:
    """One row."""
    return tuple([cell(column, index) for column in columns])


def filled(column: Any, previous: Any) -> Any:
    """A column with the previous values in place of NULL."""
    if not isinstance(column, list) or None not in column:
        return column
    return [value if value is not None else old for value, old in zip(column, listed(previous), strict=True)]


def minus(column: Any, previous: Any) -> Any:
    """The difference, row by row."""
    if isinstance(column, list) or isinstance(previous, list):
        return list(map(sub, listed(column), listed(previous)))
    return column - previous


def negative(column: Any) -> list[int]:
    """The indexes of values below zero."""
    if not isinstance(column, list):
        indexes: list[int] = (column < 0).nonzero()[0].tolist()
        return indexes
    if not column or min(column) >= 0:
        return []
    return [index for index, value in enumerate(column) if value < 0]


def added(totals: Any, owners: Sequence[int], growth: Any, *, shared: bool) -> Any:
    """Totals with each row's growth added to the total of its owner.

    owners: per row, an index into totals. shared: whether an owner may occur twice.
    """
    if isinstance(growth, list):
        totals = listed(totals)
        for owner, delta in zip(owners, growth, strict=True):
            totals[owner] += delta
        return totals
    import numpy as np

    if isinstance(totals, list):
        if any(isinstance(total, int) and total >= SAFE for total in totals):
            return added(totals, owners, growth.tolist(), shared=shared)
        totals = np.array(totals)
    totals = totals.astype(np.result_type(totals, growth), copy=False)
    if shared:
        np.add.at(totals, owners, growth)
    else:
        totals[owners] += growth
    return totals.tolist() if totals.dtype.kind == "i" and totals.max() >= SAFE else totals
