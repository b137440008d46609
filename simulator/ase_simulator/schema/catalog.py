"""The tables of one version: the monitoring tables and the system tables, with exact types."""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ase_simulator.results import Type
from ase_simulator.schema.profiles import Profile, profiles
from ase_simulator.schema.types import parse_type

NEWEST = "16.0 SP04"
"""The profile that has every column of today's servers."""


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of a version. wraps: a counter that restarts at its type's maximum; nullable: may be NULL."""

    name: str
    type: Type
    description: str = ""
    wraps: bool = False
    nullable: bool = True


@dataclass(frozen=True)
class TableDefinition:
    """One table of a version.

    scope: `master` (only there), `each` (every database has its own), or one database's name.
    needs: options that must be on before it answers; stateful: each connection receives each row once.
    """

    name: str
    scope: str
    columns: Sequence[ColumnDefinition]
    needs: Sequence[str] = ()
    stateful: bool = False
    needs_role: bool = False
    parameters: Sequence[str] = ()
    description: str = ""

    @cached_property
    def by_name(self) -> dict[str, ColumnDefinition]:
        return {column.name: column for column in self.columns}

    @cached_property
    def shape(self) -> int:
        """Alike for tables with the same types of columns."""
        return hash(tuple(column.type for column in self.columns))

    @property
    def monitoring(self) -> bool:
        return self.name.startswith("mon")

    def altered(self, types: Mapping[str, str], missing: Collection[str] = ()) -> "TableDefinition":
        """The table with other types of columns (`table.column`), and without those that are missing."""
        names = {f"{self.name}.{column.name}" for column in self.columns}
        if names.isdisjoint(types) and names.isdisjoint(missing):
            return self
        columns = [
            replace(column, type=parse_type(types[name]) or column.type) if name in types else column
            for column in self.columns
            if (name := f"{self.name}.{column.name}") not in missing
        ]
        return replace(self, columns=columns)


class Catalog:
    """All tables of one version, by name (case counts, as in ASE)."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.tables: dict[str, TableDefinition] = {
            table.name: table for table in _tables(profile) if table.columns
        }

    def find(self, name: str, database: str) -> TableDefinition | None:
        table = self.tables.get(name)
        if table is None or table.scope not in ("each", database):
            return None
        return table

    def monitoring_tables(self) -> list[TableDefinition]:
        """The MDA tables in the order of their TableID (1 upwards)."""
        return [table for table in self.tables.values() if table.monitoring]


@cache
def catalog(key: str) -> Catalog:
    """The catalog of a profile by its key; KeyError names an unknown one."""
    return Catalog(profiles()[key])


def _tables(profile: Profile) -> Iterator[TableDefinition]:
    facts = {row["table"]: row for row in csv.DictReader(read_data("mon_tables.csv").splitlines())}
    for name, rows in _grouped("mon_columns.csv").items():
        fact = facts[name]
        yield _table(
            profile,
            name,
            "master",
            rows,
            needs=_list(fact["needs"]),
            stateful=fact["stateful"] == "yes",
            needs_role=fact["open"] != "yes",
            parameters=_list(fact["parameters"]),
            description=fact["description"],
        )
    for name, rows in _grouped("system_columns.csv").items():
        yield _table(profile, name, rows[0]["scope"], rows)


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split("; ")) if text else ()


def _table(
    profile: Profile, name: str, scope: str, rows: list[dict[str, str]], **facts: Any
) -> TableDefinition:
    columns = [
        ColumnDefinition(
            row["column"],
            _type_of_its_day(row["column"], row["type"], profile),
            row.get("description", ""),
            row.get("kind") == "counter" and row["type"] in ("int", "bigint"),
        )
        for row in rows
        if profile.has(row["since"], row.get("until") or "")
    ]
    return TableDefinition(name, scope, columns, **facts)


def _type_of_its_day(column: str, text: str, profile: Profile) -> Type:
    """Before 15.0 there was no bigint, and no name was longer than 30 bytes."""
    type_ = parse_type(text)
    if type_ is None:
        raise ValueError(f"schema: {text!r} is no ASE type")
    if profile.level[0] >= 15:
        return type_
    if type_.name == "bigint":
        return Type("int")
    return Type("varchar", 30) if column.lower().endswith("name") and type_.length > 30 else type_


@cache
def _grouped(file: str) -> dict[str, list[dict[str, str]]]:
    tables: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(read_data(file).splitlines()):
        tables.setdefault(row["table"], []).append(row)
    return tables


def read_data(file: str) -> str:
    """The text of one of the schema's files."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")
