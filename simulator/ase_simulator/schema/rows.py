"""Checks the columns of produced rows against the schema, so that a misspelt column is an error, not a NULL."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import ParamSpec

from ase_simulator.contracts import Row
from ase_simulator.schema.catalog import read_data

P = ParamSpec("P")

# Columns of the model that no client sees.
_INTERNAL: Mapping[str, frozenset[str]] = {
    "sysobjects": frozenset({"database"}),
    "monCachedStatement": frozenset({"SQLText"}),  # the answer of show_cached_text
}


class UnknownColumnError(Exception):
    """A row has a column that its table has in no version."""


@cache
def _columns() -> Mapping[str, frozenset[str]]:
    """By table: the columns that clients may see in any version."""
    found: dict[str, set[str]] = {}
    for file in ("mon_columns.csv", "system_columns.csv"):
        for row in csv.DictReader(read_data(file).splitlines()):
            found.setdefault(row["table"], set()).add(row["column"])
    return {table: frozenset(columns) for table, columns in found.items()}


def known_columns(table: str) -> frozenset[str]:
    """The columns that a table has in any version."""
    return _columns().get(table, frozenset()) | _INTERNAL.get(table, frozenset())


def checked(table: str, produce: Callable[P, Iterable[Row]]) -> Callable[P, Iterator[Row]]:
    """Wrap a producer of rows: raises UnknownColumnError at the first row with an unknown column."""

    def rows(*args: P.args, **kwargs: P.kwargs) -> Iterator[Row]:
        columns = known_columns(table)
        for row in produce(*args, **kwargs):
            if not row.keys() <= columns:
                raise UnknownColumnError(f"{table}: no column {', '.join(sorted(row.keys() - columns))}")
            yield row

    return rows
