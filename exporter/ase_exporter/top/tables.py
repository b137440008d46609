"""The tables of top as tables.yaml has them: their rows, the figures of those, and the columns that show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.diagnosis.catalogue import MeasureDefinition, Unit

FILE = Path(__file__).with_name("tables.yaml")
Text = Literal["", "words", "clock", "tree", "since"]
Number = Literal["ratio", "seconds", "bytes", "plain", "short", "some"]


class Column(NamedTuple):
    """A column. shows: the path of an attribute of the row. width: of the terminals that show it, at least."""

    title: str
    shows: str
    form: Literal[Text, Number] = ""
    width: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureDefinition(MeasureDefinition):
    """How a figure of each row is calculated."""

    title: str = ""
    unit: Unit = "plain"
    measure: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableDefinition(Strict):
    """One table; the comments in tables.yaml describe the fields."""

    label: str = ""
    needs: Sequence[str] = ()
    empty: str = ""
    key: Sequence[str] = ()
    columns: Sequence[Column] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    order: Sequence[str] = ()
    also: Sequence[str] = ()
    figures: Mapping[str, FigureDefinition] = field(default_factory=dict)


@cache
def tables() -> Mapping[str, TableDefinition]:
    """The content of tables.yaml."""
    return yaml_files.load_shipped(FILE, dict[str, TableDefinition])
