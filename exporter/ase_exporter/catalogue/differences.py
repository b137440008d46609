"""How the tables of one server differ from what the catalogue expects: other types of columns, absent columns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.model import Collector

_NUMBER_TYPE = re.compile(
    r"u?(small|big)?int|u?intn|tinyint|bit|real|(float|decimal|numeric|money)n?|smallmoney"
)
_DATE_TYPE = re.compile(r"(small|big)?datetime|datetimn|bigdatetimen")


@dataclass(frozen=True, slots=True)
class TypeMismatch:
    """A column whose type on this server is not the expected kind. metrics: those made from it."""

    collector: str
    table: str
    column: str
    type: str
    expected: Literal["a number", "a date"]
    metrics: tuple[str, ...]


def type_mismatches(
    catalogue: Catalogue, facts: ServerFacts, selection: Mapping[str, bool] | None = None
) -> list[TypeMismatch]:
    """The columns of enabled collectors that have another type than their metrics need. selection: as for `plan`."""
    return [
        mismatch
        for name, collector in catalogue.chosen(selection, facts.cluster).items()
        for mismatch in _mismatches(name, collector, facts.tables.get(collector.table or "", {}))
    ]


def absent_columns(collector: Collector, facts: ServerFacts) -> list[str]:
    """The columns that a custom collector names and its table lacks, unless they have a fallback."""
    present = {column.lower() for column in facts.tables.get(collector.table or "", {})}
    if not present:
        return []
    optional = {"InstanceID"}
    for metric in collector.metrics.values():
        if metric.fallback:
            optional.update(metric.all_sources())
    return [name for name in collector.all_columns() if name not in optional and name.lower() not in present]


def _mismatches(name: str, collector: Collector, types: Mapping[str, str]) -> Iterator[TypeMismatch]:
    kinds = {column.lower(): kind for column, kind in types.items()}
    epoch = collector.epoch
    dates = {*filter(None, [collector.events]), *((epoch.started, epoch.cleared) if epoch else ())}
    metrics: dict[str, list[str]] = {column: [] for column in dates}
    for metric_name, metric in collector.metrics.items():
        present = [column for column in metric.all_sources() if column.lower() in kinds]
        chosen = metric.for_columns(present)
        for column in chosen.sources().values():
            metrics.setdefault(column, []).append(metric_name)
            if chosen.unit == "timestamp":
                dates.add(column)
    for column, names in metrics.items():
        kind = kinds.get(column.lower())
        expected = _DATE_TYPE if column in dates else _NUMBER_TYPE
        if kind is not None and not expected.fullmatch(_base_type(kind)):
            yield TypeMismatch(
                name,
                collector.table or "",
                column,
                kind,
                "a date" if column in dates else "a number",
                tuple(names),
            )


def _base_type(kind: str) -> str:
    """The type without length and sign: `int` of `unsigned int`, `varchar` of `varchar(30)`."""
    return kind.partition("(")[0].strip().removeprefix("unsigned ")
