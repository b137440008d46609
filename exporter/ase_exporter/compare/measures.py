"""The measures that are compared, from measures.yaml."""

from functools import cache
from importlib import resources
from string import Template
from typing import Annotated, Literal

from pydantic import Field, RootModel

from ase_exporter import yamlfile
from ase_exporter.compare.statistics import Good
from ase_exporter.settings import Model

Unit = Literal["ratio", "per_second", "count", "seconds", "plain"]

# The measure of how much the server had to do; comparisons at like load go by it.
LOAD = "transactions"


class Measure(Model):
    """One entry of measures.yaml; see the comments there."""

    title: str
    heading: str | None = None
    unit: Unit
    good: Good
    query: str
    smallest: Annotated[float, Field(ge=0)] = 0.0
    by: str | None = None
    top: Annotated[int, Field(ge=1)] = 20
    rank: str | None = None

    def promql(self, selector: str, seconds: float) -> str:
        """The query for a server and a range of that many seconds."""
        return _fill(self.query, selector, seconds)

    def ranking(self, selector: str, seconds: float) -> str | None:
        """The query whose largest values say which rows matter; None: all do."""
        return _fill(self.rank, selector, seconds) if self.rank else None

    def show(self, value: float) -> str:
        """A value as reports print it."""
        if self.unit == "ratio":
            return f"{value * 100:.2f} %"
        if value and abs(value) < 1:
            return f"{value:.3g}"
        return f"{value:,.1f}"

    def show_difference(self, value: float) -> str:
        """A difference as reports print it; ratios differ by percentage points."""
        if self.unit == "ratio":
            return f"{value * 100:+.2f} pp"
        return f"{value:+.3g}" if abs(value) < 1 else f"{value:+,.1f}"


class _File(RootModel[dict[str, Measure]]):
    pass


@cache
def measures() -> dict[str, Measure]:
    """All measures by key, in the order of the file."""
    text = (resources.files(__package__) / "measures.yaml").read_text(encoding="utf-8")
    return yamlfile.parse(text, _File, "measures.yaml").root


def _fill(query: str, selector: str, seconds: float) -> str:
    filled = Template(query).substitute(sel=selector, w=f"{max(1, round(seconds))}s")
    return " ".join(filled.split())
