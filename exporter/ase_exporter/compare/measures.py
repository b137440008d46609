"""The measures that are compared, as measures.yaml lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Annotated, Literal

from annotated_types import Ge

from ase_exporter.catalogue.wait_parts import wait_parts
from ase_exporter.compare.statistics import Good
from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
from ase_exporter.views.figures import shown

Unit = Literal["ratio", "per_second", "count", "seconds", "plain"]

# The measure of the server's load, by which samples at equal load are chosen.
LOAD = "transactions"
_FILE = Path(__file__).with_name("measures.yaml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure(Strict):
    """One entry of measures.yaml; the comments there describe the fields."""

    title: str
    heading: str | None = None
    unit: Unit
    good: Good
    query: str
    min_difference: Annotated[float, Ge(0)] = 0.0
    by: str | None = None
    top: Annotated[int, Ge(1)] = 20
    rank: str | None = None

    def promql(self, selector: str, seconds: float) -> str:
        """The query for a server over a range of that many seconds."""
        return _fill(self.query, selector, seconds)

    def ranking(self, selector: str, seconds: float) -> str:
        """The query by whose values `top` rows are chosen; '' if all rows are kept."""
        return _fill(self.rank or "", selector, seconds)

    def show(self, value: float | None, sign: str = "") -> str:
        """A value as reports print it. sign: "+" for a difference."""
        return shown(value, self.unit, digits=4, sign=sign)


@cache
def measures() -> Mapping[str, Measure]:
    """All measures by key, in the order of the file."""
    return yaml_files.load_shipped(_FILE, dict[str, Measure])


def _fill(query: str, selector: str, seconds: float) -> str:
    width = f"[{max(1, int(seconds * 1000))}ms]"
    waits = (
        f"rate(ase_wait_seconds_total{{{selector}, {each}}}{width})" for each in wait_parts().of_account()
    )
    filled = Template(query).substitute(
        sel=selector, w=width[1:-1], waits=f"({' or '.join(waits)})", spin=threshold(SECONDS_PER_SPIN)
    )
    return " ".join(filled.split())
