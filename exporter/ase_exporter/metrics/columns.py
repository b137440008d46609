"""Result sets as columns: what is the same for all cells of a column is done for the column at once."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from operator import sub
from typing import Any

# One row of a result set, in select order.
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """One result set. columns: in select order, NULL as None. length: number of rows.

    with_null: indexes of the columns with NULL, of those that have been looked at.
    """

    columns: Sequence[Sequence[Any]]
    length: int
    with_null: Set[int] = frozenset()

    @classmethod
    def of_rows(cls, rows: Iterable[Row], width: int) -> "Columns":
        """Columns from rows of `width` cells."""
        columns = list(zip(*rows, strict=True))
        return cls(columns or [()] * width, len(columns[0]) if columns else 0)

    def __len__(self) -> int:
        return self.length

    def rows(self, indexes: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """The rows as tuples, with all columns or only these."""
        wanted = range(len(self.columns)) if indexes is None else indexes
        return (
            list(zip(*[self.columns[index] for index in wanted], strict=True))
            if wanted
            else [()] * self.length
        )


def column_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """The names that the server gave to the columns of a result; empty for no rows, or if not known."""
    description = getattr(rows[0], "cursor_description", ()) if rows else ()
    return tuple([column[0] for column in description])


def row_at(columns: Sequence[Sequence[Any]], index: int) -> tuple[Any, ...]:
    """One row."""
    return tuple([column[index] for column in columns])


def filled(column: Sequence[Any], previous: Sequence[Any]) -> list[Any]:
    """A column with the previous values in place of NULL."""
    if None not in column:
        return list(column)
    return [value if value is not None else old for value, old in zip(column, previous, strict=True)]


def minus(column: Sequence[Any], previous: Sequence[Any]) -> list[Any]:
    """The difference, row by row."""
    return list(map(sub, column, previous))


def negative(column: Sequence[Any]) -> list[int]:
    """The indexes of values below zero."""
    if not column or min(column) >= 0:
        return []
    return [index for index, value in enumerate(column) if value < 0]
