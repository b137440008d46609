"""The shape of a catalogue file: collectors as data.

A file is a mapping of collector names to collectors. A collector reads one table (or one select statement)
and
says which columns become labels and which become metrics. A metric named `..._total` is a counter, every
other
one a gauge. See `Collector`, `Metric` and `Label` for all keys.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, Self

from annotated_types import Ge, Le, MinLen

from ase_exporter.catalogue.versions import parse_version
from ase_exporter.checks import Check, Strict

# What a column may hold: factor to the base unit, and that unit. A server page is as large as the server
# says.
UNITS: dict[str, tuple[float, str]] = {
    "none": (1, ""),
    "seconds": (1, "seconds"),
    "milliseconds": (1e-3, "seconds"),
    "microseconds": (1e-6, "seconds"),
    "minutes": (60, "seconds"),
    "days": (86_400, "seconds"),
    "timestamp": (1, "seconds since 1970"),
    "bytes": (1, "bytes"),
    "kilobytes": (1024, "bytes"),
    "megabytes": (1 << 20, "bytes"),
    "2k pages": (2048, "bytes"),
    "server pages": (2048, "bytes"),
    "percent": (0.01, "ratio"),
}

NAME = re.compile(r"[a-z][a-z0-9_]*$")
COLUMN = re.compile(r"[A-Za-z_@#][A-Za-z0-9_@#$]*$")
# Words that Prometheus's practice or a scrape configuration keeps for the target itself.
FORBIDDEN_LABELS = {"type", "instance", "job", "target", "cluster", "env", "le", "quantile"}


def _is_version(text: str) -> str:
    parse_version(text)
    return text


def _is_unit(text: str) -> str:
    if text not in UNITS:
        raise ValueError(f"unknown unit {text!r}; expected one of: {', '.join(UNITS)}")
    return text


def _is_column(text: str) -> str:
    if not COLUMN.match(text):
        raise ValueError(f"{text!r} is no column name")
    return text


ColumnName = Annotated[str, Check(_is_column)]
Unit = Annotated[str, Check(_is_unit)]
Since = Annotated[str, Check(_is_version)]
Lookup = Literal["wait_event", "wait_class", "spinlock_class", "database", "version", "edition"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Label(Strict):
    """A label that is more than a column's text. In a file a plain column name may stand for it.

    column: where the value comes from. lookup: a dictionary of the server or of the catalogue to send it
    through. map: fixed translations of values, the rest stays as it is. absent: the value where it is NULL or
    the server has no such column; without it the label is left out where the column does not exist.
    """

    column: ColumnName
    lookup: Lookup | None = None
    map: dict[str, str] = field(default_factory=dict)
    absent: str | None = None


def _expand(labels: object) -> object:
    if isinstance(labels, dict):
        return {
            name: {"column": label} if isinstance(label, str) else label for name, label in labels.items()
        }
    return labels


Labels = Annotated[dict[str, Label], Check(_expand, before=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fallback(Strict):
    """Where a metric comes from on servers that lack its own columns."""

    column: ColumnName | None = None
    columns: dict[str, ColumnName] = field(default_factory=dict)
    unit: Unit = "none"

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if self.column is not None and self.columns:
            raise ValueError("either `column` or `columns`, not both")


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric(Strict):
    """One metric of a collector.

    column: its source; without one the value is 1 (facts live in labels).
    by + columns: several columns under one name, told apart by a label, as in `by: mode` and
    `columns: {user: UserTime, system: SystemTime}`.
    count: the value is the number of rows.
    total: summed over all rows, so without the collector's labels.
    labels: labels of this metric in addition to those of the collector.
    unit: what the column holds; values are converted to base units.
    fold: how rows with the same labels become one; counters are always summed.
    fallback: columns to take where the server has none of these.
    experimental: its unit could not be verified.
    since: the first version with its columns, where later than the collector's; for the reference only, as
    the server itself is asked which columns it has.
    """

    help: Annotated[str, MinLen(5)]
    column: ColumnName | None = None
    by: str | None = None
    columns: dict[str, ColumnName] = field(default_factory=dict)
    count: bool = False
    total: bool = False
    labels: Labels = field(default_factory=dict)
    unit: Unit = "none"
    fold: Literal["sum", "max", "min"] = "sum"
    fallback: Fallback | None = None
    experimental: bool = False
    since: Since | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        spare = self.fallback.columns if self.fallback else {}
        if (self.by is None) != (not self.columns) or (self.by is None and spare):
            raise ValueError("`by` and `columns` go together")
        if self.column is not None and self.columns:
            raise ValueError("either `column` or `columns`, not both")
        if self.count and (self.column or self.columns):
            raise ValueError("`count` counts rows and takes no column")

    def sources(self) -> dict[str, ColumnName]:
        """The columns it reads values from, by value of its `by` label; '' without one."""
        return {"": self.column} if self.column else self.columns

    def all_sources(self) -> list[ColumnName]:
        """The columns that it may read values from, its fallback's too."""
        other = self.fallback
        spare = [] if other is None else [*([other.column] if other.column else []), *other.columns.values()]
        return [*self.sources().values(), *spare]

    def for_columns(self, present: Container[str]) -> Self:
        """The metric as it is on a server with these columns of the table."""
        if self.fallback is None or any(column in present for column in self.sources().values()):
            return self
        other = self.fallback
        by = self.by if other.columns else None
        return replace(
            self, by=by, column=other.column, columns=other.columns, unit=other.unit, fallback=None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch(Strict):
    """Columns that tell when the server started and when its counters were cleared."""

    started: ColumnName
    cleared: ColumnName


@dataclass(frozen=True, kw_only=True, slots=True)
class Top(Strict):
    """Only the most costly rows get series of their own, the others are summed as `rest`.

    by: counters or gauges whose growth (or value) ranks the rows, summed. limit: how many.
    """

    by: Annotated[list[ColumnName], MinLen(1)]
    limit: Annotated[int, Ge(1), Le(1000)] = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Collector(Strict):
    """One table, or one select, and what becomes of its rows.

    table / sql + columns: what is read; `columns` names the result of `sql` in order, with types.
    where: a condition on the table's rows. since: the first version that has it.
    roles, options: what the login and the server's configuration need. edition: smp or cluster only.
    default: read unless switched off, or only when asked for. interval: seconds between readings, 0 =
    every time.
    key: columns that tell rows apart beyond the labels. generation: a column that moves when a row starts
    anew.
    events: every row is a new event, given once per connection; counters count or sum rows. `events` names
    the
    column with its time.
    """

    help: Annotated[str, MinLen(5)]
    table: ColumnName | None = None
    sql: str | None = None
    columns: dict[ColumnName, str] = field(default_factory=dict)
    where: str | None = None
    since: Since = "12.5.0.3"
    edition: Literal["smp", "cluster"] | None = None
    roles: list[str] = field(default_factory=lambda: ["mon_role"])
    options: list[str] = field(default_factory=list)
    default: bool = True
    experimental: bool = False
    interval: Annotated[float, Ge(0)] = 0
    key: list[ColumnName] = field(default_factory=list)
    generation: ColumnName | None = None
    labels: Labels = field(default_factory=dict)
    metrics: Annotated[dict[str, Metric], MinLen(1)]
    epoch: Epoch | None = None
    events: ColumnName | None = None
    top: Top | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if (self.table is None) == (self.sql is None):
            raise ValueError("either `table` or `sql` is needed, not both")
        if (self.sql is None) != (not self.columns):
            raise ValueError(
                "`sql` needs `columns` (name: type, in the order of the select), `table` takes none"
            )
        for name, metric in self.metrics.items():
            if not NAME.match(name) or not name.startswith("ase_"):
                raise ValueError(f"metric {name!r}: expected lower case, starting with ase_")
            if self.events and not name.endswith("_total"):
                raise ValueError(f"metric {name!r}: events make counters, which end in _total")
            for label in (*self.labels, *metric.labels, *([metric.by] if metric.by else [])):
                if not NAME.match(label) or label in FORBIDDEN_LABELS:
                    raise ValueError(f"metric {name!r}: label {label!r} is reserved or malformed")
            for column in (*metric.sources().values(), *(label.column for label in metric.labels.values())):
                if self.columns and column not in self.columns:
                    raise ValueError(f"metric {name!r}: the select has no column {column!r}")

    def all_columns(self) -> list[ColumnName]:
        """Every column that it may read, once, in the order of the select; InstanceID among them."""
        named = [
            *(label.column for label in self.labels.values()),
            *(label.column for metric in self.metrics.values() for label in metric.labels.values()),
            *self.key,
            "InstanceID",
            *filter(None, [self.generation, self.events]),
            *((self.epoch.started, self.epoch.cleared) if self.epoch else ()),
            *(self.top.by if self.top else ()),
            *(source for metric in self.metrics.values() for source in metric.all_sources()),
        ]
        return list(dict.fromkeys(named))
