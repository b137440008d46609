"""The measures that are compared, as measures.yaml lists them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from ase_exporter.compare.statistics import Good
from ase_exporter.config import yaml_files
from ase_exporter.diagnosis.catalogue import MeasureDefinition, Selection, catalogue
from ase_exporter.diagnosis.promql import Read, grouped, rows_query
from ase_exporter.views.figures import shown

# What is less than that share of a figure that is no ratio itself matters to nobody.
MIN_SHARE = 0.01
# The measure of the server's load, by which samples at equal load are chosen.
LOAD = "transactions"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure(MeasureDefinition):
    """One entry of measures.yaml; the comments there describe the fields."""

    good: Good
    heading: str | None = None
    figure: str | None = None
    min_difference: Annotated[float, Ge(0)] = 0.0
    top: Annotated[int, Ge(1)] = 20
    rank: Selection | None = None
    plus: Sequence[Selection] = ()
    of_server: bool = False

    @property
    def min_share(self) -> float:
        """The share of the figure from which on a difference is better or worse; ratios have `min_difference`."""
        return 0.0 if self.unit == "ratio" else MIN_SHARE

    def promql(self, selector: str, read: Read) -> str:
        """The query for a server."""
        if self.figure:
            return rows_query(catalogue().measures[self.figure], selector, read)
        return rows_query(self, selector, read, plus=self.plus, of_server=self.of_server)

    def ranking(self, selector: str, read: Read) -> str:
        """The query by whose values `top` rows are chosen; '' if all rows are kept."""
        return grouped(self.rank, self.by, selector, read) if self.rank else ""

    def show(self, value: float | None, sign: str = "") -> str:
        """A value as reports print it. sign: "+" for a difference."""
        return shown(value, self.unit, digits=4, sign=sign)


@cache
def measures() -> Mapping[str, Measure]:
    """All measures by key, in the order of the file."""
    return yaml_files.load_shipped(Path(__file__).with_name("measures.yaml"), dict[str, Measure])
