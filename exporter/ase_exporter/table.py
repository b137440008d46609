"""A result set by columns, as the ways of a number through the exporter take it.

Columns of many rows are numpy arrays (or `Texts`), which count and compare a thousand values at the price of
one; those of few rows are plain lists, and numpy, which costs 15 MB, is then not even loaded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From so many rows on, columns are arrays where their type allows it.
BULK = 1000
# Sums and differences of integers below it stay within 64 bits; what is larger is kept as Python's own.
SAFE = 1 << 62


class Texts:
    """A column of many strings as they came: UTF-16 units (rows x width, zero behind the end), units per row."""

    __slots__ = ("_lengths", "_units")

    def __init__(self, units: "NDArray[np.uint16]", lengths: "NDArray[np.int64]") -> None:
        self._lengths = lengths
        # Columns are declared wide and filled little.
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
        # Characters of two units: nothing stands where it would.
        return [
            None if length < 0 else row[:length].tobytes().decode("utf-16-le", "replace")
            for row, length in zip(self._units, lengths, strict=True)
        ]

    def same(self, other: "Texts") -> bool:
        """Whether the other has the same strings in the same order."""
        return (
            self._units.shape == other._units.shape
            and bool((self._lengths == other._lengths).all())
            and bool((self._units == other._units).all())
        )


@dataclass(frozen=True, slots=True)
class Table:
    """One result set. columns: in select order, NULL as None (an array has none). length: rows."""

    columns: "Sequence[list[Any] | NDArray[Any] | Texts]"
    length: int

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]], width: int) -> "Table":
        """From rows of so many cells."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        return cls(columns or [[] for _ in range(width)], len(columns[0]) if columns else 0)

    def __len__(self) -> int:
        return self.length

    def listed(self, place: int) -> list[Any]:
        """One column as a list of Python's own values."""
        return listed(self.columns[place])

    def rows(self, places: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """The rows as tuples, of all columns or of these."""
        wanted = range(len(self.columns)) if places is None else places
        return list(zip(*map(self.listed, wanted), strict=True)) if wanted else [()] * self.length


def listed(column: Any) -> list[Any]:
    """A column as a list of Python's own values."""
    return column if isinstance(column, list) else column.tolist()


def same(one: Any, other: Any) -> bool:
    """Whether two columns hold the same values in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return bool(one == other)
    if isinstance(one, Texts):
        return bool(one.same(other))
    return one.shape == other.shape and bool((one == other).all())


def cell(column: Any, place: int) -> Any:
    """One value of a column, as Python's own."""
    return column[place] if isinstance(column, list) else column.item(place)


def row_at(columns: Sequence[Any], place: int) -> tuple[Any, ...]:
    """One row."""
    return tuple([cell(column, place) for column in columns])


def filled(column: Any, before: Any) -> Any:
    """A column with the values from before where it has none."""
    if not isinstance(column, list) or None not in column:
        return column
    return [value if value is not None else old for value, old in zip(column, listed(before), strict=True)]


def minus(column: Any, before: Any) -> Any:
    """The difference, row by row."""
    if isinstance(column, list) or isinstance(before, list):
        return list(map(sub, listed(column), listed(before)))
    return column - before


def negative(column: Any) -> list[int]:
    """Where a column is below zero."""
    if not isinstance(column, list):
        places: list[int] = (column < 0).nonzero()[0].tolist()
        return places
    if not column or min(column) >= 0:
        return []
    return [index for index, value in enumerate(column) if value < 0]


def added(totals: Any, owners: Sequence[int], growth: Any, *, shared: bool) -> Any:
    """Totals with the growth of each row added to its owner's. shared: an owner may be there twice."""
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
