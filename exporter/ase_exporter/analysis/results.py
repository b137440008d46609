"""Results as plain arrays: values along time, and tables. Both become DataFrames where pandas is installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ase_exporter.errors import UserError

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One measure along time.

    title, unit: as in reports; ratios are 0-1. times: shape (n,), Unix seconds. values: by name ('' where there is
    only one row), each of shape (n,), NaN where there is no sample.
    """

    title: str
    unit: str
    times: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]

    def frame(self) -> Any:
        """A pandas.DataFrame: a column per name, indexed by time in UTC. Raises UserError without pandas."""
        pandas = _pandas()
        index = pandas.to_datetime(self.times, unit="s", utc=True)
        return pandas.DataFrame({name or self.title: row for name, row in self.values.items()}, index=index)


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length. units: of the columns that have one; times are Unix seconds, ratios 0-1."""

    columns: Mapping[str, Column]
    units: Mapping[str, str]

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def frame(self) -> Any:
        """A pandas.DataFrame with these columns. Raises UserError without pandas."""
        return _pandas().DataFrame(dict(self.columns))


def on_one_grid(
    rows: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """The times of all rows, and each row's values at them, NaN where it has none. rows: times and values by name."""
    times = np.unique(np.concatenate([at for at, _ in rows.values()] or [np.empty(0)]))
    values = {}
    for name, (at, found) in rows.items():
        row = np.full(len(times), np.nan)
        row[np.searchsorted(times, at)] = found
        values[name] = row
    return times, values


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise UserError("frame() needs pandas, which is not installed: pip install pandas") from None
    return pandas
