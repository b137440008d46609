"""The model of a catalogue file: collectors as data.

A file maps collector names to collectors. A collector reads one table, or the result of one select, and says which
columns become labels and which become metrics. A metric named `..._total` is a counter, every other one a gauge.
`Collector`, `Metric` and `Label` describe all keys.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, Self

from annotated_types import Ge, MinLen

from ase_exporter.catalogue.versions import parse_version
from ase_exporter.config.fields import Strict, Validator
from ase_exporter.errors import expected_names

# By unit of a column: the factor to the base unit, and the base unit. The size of a server page is replaced by the
# server's own.
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
# Label names that Prometheus or a scrape configuration uses for the target itself.
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
        raise ValueError(f"{text!r} is not a column name")
    return text


ColumnName = Annotated[str, Validator(_is_column)]
Unit = Annotated[str, Validator(_is_unit)]
Since = Annotated[str, Validator(_is_version)]
Lookup = Literal[
    "wait_event", "wait_class", "spinlock_class", "database", "login", "program", "version", "edition",
    "log_problem",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Label(Strict):
    """A label made from a column. In a file, a plain column name is short for `column` alone.

    lookup: a translation by the server or the catalogue. map: fixed translations of values; other values are kept.
    absent: the value for NULL and on servers without the column, where the label is left out otherwise.
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


Labels = Annotated[dict[str, Label], Validator(_expand, before=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fallback(Strict):
    """The source of a metric on servers without its own columns."""

    column: ColumnName | None = None
    columns: dict[str, ColumnName] = field(default_factory=dict)
    unit: Unit = "none"

    def __post_init__(self) -> None:
        """Raises ValueError if keys conflict."""
        if self.column is not None and self.columns:
            raise ValueError("either `column` or `columns`, not both")


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric(Strict):
    """One metric of a collector.

    column: its source; without one the value is 1, for facts in labels.
    by, columns: several columns in one metric, with a label to tell them apart, as in `by: mode` and
    `columns: {user: UserTime, system: SystemTime}`.
    count: the value is the number of rows.
    total: summed over all rows, without the collector's labels.
    labels: in addition to those of the collector.
    unit: of the column; values are converted to the base unit.
    fold: how rows with the same labels are combined; counters are always summed.
    fallback: columns for servers that have none of these.
    experimental: the unit could not be verified.
    since: the first version with these columns, if later than the collector's. Only for the reference: which
    columns exist is read from the server.
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
        """Raises ValueError if keys conflict."""
        spare = self.fallback.columns if self.fallback else {}
        if (self.by is None) != (not self.columns) or (self.by is None and spare):
            raise ValueError("`by` and `columns` go together")
        if self.column is not None and self.columns:
            raise ValueError("either `column` or `columns`, not both")
        if self.count and (self.column or self.columns):
            raise ValueError("`count` counts rows and takes no column")

    def sources(self) -> dict[str, ColumnName]:
        """The columns of its values, by value of the `by` label; '' without one."""
        return {"": self.column} if self.column else self.columns

    def all_sources(self) -> list[ColumnName]:
        """All columns that its values may come from, including the fallback's."""
        other = self.fallback
        spare = [] if other is None else [*([other.column] if other.column else []), *other.columns.values()]
        return [*self.sources().values(), *spare]

    def for_columns(self, present: Container[str]) -> Self:
        """The metric on a server that has these columns of the table."""
        if self.fallback is None or any(column in present for column in self.sources().values()):
            return self
        other = self.fallback
        by = self.by if other.columns else None
        return replace(
            self, by=by, column=other.column, columns=other.columns, unit=other.unit, fallback=None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch(Strict):
    """The columns with the time of the server's start and of the last clearing of its counters."""

    started: ColumnName
    cleared: ColumnName


@dataclass(frozen=True, kw_only=True, slots=True)
class Collector(Strict):
    """One table, or one select, and the metrics made from its rows.

    table: what is read; or sql, with `columns`: the columns of its result in order, with their types.
    where: a condition on the table's rows.
    before: by version, parts of the select that older servers lack, each with what takes its place.
    since: the first version with the table. edition: if only smp or only cluster has it.
    roles, options: required of the login and of the server's configuration.
    default: whether it is enabled unless the configuration says otherwise.
    interval: seconds between readings, 0 for every scrape.
    key: columns that tell rows apart, in addition to the labels.
    names: columns of labels that may change while the row, which `key` tells apart without them, goes on counting.
    generation: a column that changes when the counters of a row start again.
    grouped: the server sums the rows with the same labels, for tables of very many rows with wide counters alone.
    events: the column with an event's time, if every row is an event that the server returns once per connection;
    counters then count the rows, or sum them.
    top: columns whose growth (counters) or value (gauges) ranks the rows: only the most expensive ones get series of
    their own, the others are summed as `rest`.
    """

    help: Annotated[str, MinLen(5)]
    table: ColumnName | None = None
    sql: str | None = None
    columns: dict[ColumnName, str] = field(default_factory=dict)
    where: str | None = None
    before: dict[Since, dict[str, str]] = field(default_factory=dict)
    since: Since = "12.5.0.3"
    edition: Literal["smp", "cluster"] | None = None
    roles: list[str] = field(default_factory=lambda: ["mon_role"])
    options: list[str] = field(default_factory=list)
    default: bool = True
    experimental: bool = False
    interval: Annotated[float, Ge(0)] = 0
    key: list[ColumnName] = field(default_factory=list)
    names: list[ColumnName] = field(default_factory=list)
    generation: ColumnName | None = None
    labels: Labels = field(default_factory=dict)
    metrics: Annotated[dict[str, Metric], MinLen(1)]
    epoch: Epoch | None = None
    grouped: bool = False
    events: ColumnName | None = None
    top: list[ColumnName] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raises ValueError if keys conflict."""
        if (self.table is None) == (self.sql is None):
            raise ValueError("either `table` or `sql` is needed, not both")
        if (self.sql is None) != (not self.columns):
            raise ValueError(
                "`sql` needs `columns` (name: type, in the order of the select), `table` takes none"
            )
        if self.sql is not None:
            for column in self.all_columns():
                if column not in self.columns and column != "InstanceID":
                    known = expected_names(column, self.columns)
                    raise ValueError(f"the select has no column {column!r}; {known}")
        for part in (part for parts in self.before.values() for part in parts):
            if part not in (self.sql or ""):
                raise ValueError(f"`before`: the select has no part {part!r}")
        if self.names and (
            not self.key or not {each.column for each in self.labels.values()} >= {*self.names}
        ):
            raise ValueError("`names` needs `key`, and has columns of labels")
        if self.grouped and (not self.table or self.top or self.events or self.generation or self.epoch):
            raise ValueError("`grouped` needs `table`, and excludes top, events, generation and epoch")
        for name, metric in self.metrics.items():
            if self.grouped and (
                not name.endswith("_total") or metric.count or metric.total or metric.labels
            ):
                raise ValueError(
                    f"metric {name!r}: `grouped` allows only counters with the collector's labels"
                )
            if not NAME.match(name) or not name.startswith("ase_"):
                raise ValueError(f"metric {name!r}: expected lower case, starting with ase_")
            if self.events and not name.endswith("_total"):
                raise ValueError(f"metric {name!r}: events make counters, which end in _total")
            for label in (*self.labels, *metric.labels, *([metric.by] if metric.by else [])):
                if not NAME.match(label) or label in FORBIDDEN_LABELS:
                    raise ValueError(f"metric {name!r}: label {label!r} is reserved or malformed")

    def is_of(self, cluster: bool) -> bool:
        """Whether it exists in Cluster Edition, or else in the other one (smp)."""
        return self.edition is None or (self.edition == "cluster") == cluster

    def all_columns(self) -> list[ColumnName]:
        """Every column that it may read, including InstanceID, in the order of the select."""
        named = [
            *(label.column for label in self.labels.values()),
            *(label.column for metric in self.metrics.values() for label in metric.labels.values()),
            *self.key,
            "InstanceID",
            *filter(None, [self.generation, self.events]),
            *((self.epoch.started, self.epoch.cleared) if self.epoch else ()),
            *self.top,
            *(source for metric in self.metrics.values() for source in metric.all_sources()),
        ]
        return list(dict.fromkeys(named))
