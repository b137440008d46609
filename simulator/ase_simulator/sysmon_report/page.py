"""The page of a report: right-aligned figures in columns, and a record of each figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ase_simulator.yaml_text import load_yaml

WIDTH = 79
RULE = "=" * WIDTH + " "
_EDGES = (41, 55, 67, 77)
_MEASURES = ("per_sec", "per_xact", "count", "percent_of_total")
_LABEL = 25
_RULES = ("-" * _LABEL, "-" * 12, "-" * 12, "-" * 10, "-" * 10)
TITLES = "     per sec      per xact       count  % of total"
_TITLES_AT = 29
_ABSENT = "n/a"

_LAYOUT: dict[str, Any] = load_yaml(files(__package__).joinpath("layout.yaml").read_text("utf-8"))
SECTIONS: dict[str, str] = _LAYOUT["sections"]
"""Section keywords in the order of a whole report, with the file that has the section as a macro."""
COLUMNS: dict[str, list[tuple[str, int, int, int, str]]] = _LAYOUT["columns"]
"""Measure, last column, width, decimals and sign of each figure of the rows with columns of their own."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed figure; value: None if it did not fit and was printed as asterisks."""

    section: str
    path: tuple[str, ...]
    row: str
    measure: str
    value: float | None


def text_of(value: float, width: int, decimals: int = 0) -> str:
    """T-SQL's str(): right-aligned, asterisks if it does not fit."""
    text = f"{value:.{decimals}f}"
    return text.rjust(width) if len(text) <= width else "*" * width


def put(line: str, text: str, edge: int) -> str:
    """The line with a figure that ends at that column; if there is no room, after one blank."""
    text = text.strip()
    return line + text.rjust(max(edge - len(line), len(text) + 1))


class Page:
    """Writes lines for the templates of the sections, and keeps each figure in `printed`.

    seconds, transactions: divisors of the rates. A method that a template calls as a block gets its content as
    `caller`.
    """

    def __init__(self, elapsed_ms: int, transactions: int) -> None:
        self.lines: list[str] = []
        self.printed: list[Printed] = []
        self.seconds = (elapsed_ms or 1) / 1000
        self.transactions = transactions or 1
        self._section = ""
        self._path: list[str] = []

    def add(self, text: str) -> None:
        """Text of one or several lines; a blank line holds one blank, as PRINT sends it."""
        self.lines += [line or " " for line in text.removesuffix("\n").split("\n")]

    def section(
        self, title: str, *, caller: Callable[[], str], titled: bool = False, ruled: bool = True
    ) -> str:
        """A section with its heading; titled: the column titles stand on the heading line."""
        self._section = title
        heading = f"{title}\n{'-' * len(title)}\n"
        if titled:
            heading = f"{title:<{_TITLES_AT}}{TITLES}\n{'-' * 27}  {'  '.join(_RULES[1:])}\n"
        return heading + caller() + (f"{RULE}\n\n" if ruled else "")

    def block(self, name: str, indent: int = 2, *, caller: Callable[[], str], show: bool = True) -> str:
        self._path.append(name)
        content = caller()
        self._path.pop()
        return f"{' ' * indent}{name}\n{content}" if show else content

    def table(self, name: str, *, caller: Callable[[], str], columns: int = 4) -> str:
        titles = TITLES if columns == 4 else TITLES[:38]
        content = self.block(name, caller=caller, show=False)
        return f"  {name:<{_TITLES_AT - 2}}{titles}\n{self.rule(columns)}\n{content}\n"

    def titles(self, *, rule: int = 4, labelled: bool = False) -> str:
        """Column titles without a name, and their underline; labelled: it runs below the labels too."""
        return f"{' ' * _TITLES_AT}{TITLES}\n{self.rule(rule, labelled=labelled)}"

    def rule(self, columns: int = 3, *, labelled: bool = True) -> str:
        """The line above a total or below titles."""
        label = f"  {_RULES[0]}" if labelled else " " * 27
        return "  ".join([label, *_RULES[1 : columns + 1]]) + " "

    def row(
        self,
        indent: int,
        label: str,
        count: int,
        total: int | None = None,
        *,
        share: bool = True,
        xact: bool = True,
        name: str = "",
    ) -> str:
        """A count with its rates, and its part of a total.

        share: whether the last column is printed. name: the row's name if its label is not
        all of that.
        """
        texts = [
            text_of(count / self.seconds, 12, 1),
            text_of(count / self.transactions, 12, 1) if xact else _ABSENT,
            text_of(count, 10),
        ]
        if share:
            texts.append(_ABSENT if total is None else text_of(100.0 * count / total if total else 0.0, 5, 1))
        return self._usual(indent, label, texts, name)

    def gauge(self, indent: int, label: str, value: float, decimals: int = 0, *, name: str = "") -> str:
        """A figure without rates, in the count column."""
        return self._usual(indent, label, [_ABSENT, _ABSENT, text_of(value, 10, decimals), _ABSENT], name)

    def percent(self, indent: int, label: str, value: float) -> str:
        return self._usual(indent, label, [_ABSENT, _ABSENT, _ABSENT, text_of(value, 5, 1)])

    def nothing(self, indent: int, label: str, *, name: str = "") -> str:
        """Replaces a block in which nothing happened."""
        return self.row(indent, label, 0, name=name)

    def _usual(self, indent: int, label: str, texts: Sequence[str], name: str = "") -> str:
        """A row of the four usual columns."""
        line = " " * indent + label
        for text, edge, measure in zip(texts, _EDGES, _MEASURES, strict=False):
            line = put(line, text, edge)
            if measure == "percent_of_total" and text != _ABSENT:
                line += " %"
            self.record(name or squeezed(label), measure, text)
        return line

    def figures(self, text: str, values: Sequence[float], columns: str, label: str = "") -> str:
        """A row of other columns; its label is by default what `text` says without its runs of blanks."""
        line = text
        for value, (measure, edge, width, decimals, sign) in zip(values, COLUMNS[columns], strict=False):
            printed = text_of(value, width, decimals)
            line = put(line, printed, edge) + sign
            self.record(label or squeezed(text), measure, printed)
        return line

    def unsigned_share(self, line: str, label: str, share: str) -> str:
        """The line with a percentage that has no sign."""
        self.record(label, "percent_of_total", share)
        return line + share.rjust(WIDTH - len(line))

    def record(self, row: str, measure: str, text: str) -> str:
        """Remember a figure as it was printed; returns the text."""
        if text.strip() != _ABSENT:
            value = None if "*" in text else float(text)
            self.printed.append(Printed(self._section, tuple(self._path), row, measure, value))
        return text


def squeezed(text: str) -> str:
    return " ".join(text.split())
