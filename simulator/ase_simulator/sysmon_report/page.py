"""The page of a report: right-aligned figures in columns, and a record of each figure."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

WIDTH = 79
RULE = "=" * WIDTH + " "
_EDGES = (41, 55, 67, 77)
_MEASURES = ("per_sec", "per_xact", "count", "percent_of_total")
_LABEL = 25
_RULES = ("-" * _LABEL, "-" * 12, "-" * 12, "-" * 10, "-" * 10)
TITLES = "     per sec      per xact       count  % of total"
_TITLES_AT = 29
_ABSENT = "n/a"


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
    """Lines in the order in which they are printed. seconds, transactions: divisors of the rates."""

    def __init__(self, elapsed_ms: int, transactions: int) -> None:
        self.lines: list[str] = []
        self.printed: list[Printed] = []
        self.seconds = (elapsed_ms or 1) / 1000
        self.transactions = transactions or 1
        self._section = ""
        self._path: list[str] = []

    def line(self, text: str = "") -> None:
        """Text as it is; a blank line holds one blank, as PRINT sends it."""
        self.lines.append(text or " ")

    @contextmanager
    def section(self, title: str, *, titled: bool = False, ruled: bool = True) -> Iterator[None]:
        """A section with its heading; titled: the column titles stand on the heading line."""
        self._section = title
        if titled:
            self.line(f"{title:<{_TITLES_AT}}{TITLES}")
            self.line("-" * 27 + "  " + "  ".join(_RULES[1:]))
        else:
            self.line(title)
            self.line("-" * len(title))
        yield
        if ruled:
            self.line(RULE)
            self.line()

    @contextmanager
    def block(self, name: str, indent: int = 2, *, show: bool = True) -> Iterator[None]:
        """Rows under a sub-heading."""
        if show:
            self.line(" " * indent + name)
        self._path.append(name)
        yield
        self._path.pop()

    @contextmanager
    def table(self, name: str, *, columns: int = 4) -> Iterator[None]:
        """Rows under a sub-heading with column titles and an underline."""
        titles = TITLES if columns == 4 else TITLES[:38]
        self.line(f"  {name:<{_TITLES_AT - 2}}{titles}")
        self.rule(columns)
        self._path.append(name)
        yield
        self._path.pop()
        self.line()

    def titles(self, *, rule: int = 4, labelled: bool = False) -> None:
        """Column titles without a name, and their underline; labelled: it runs below the labels too."""
        self.line(" " * _TITLES_AT + TITLES)
        self.rule(rule, labelled=labelled)

    def rule(self, columns: int = 3, *, labelled: bool = True) -> None:
        """The line above a total or below titles."""
        label = f"  {_RULES[0]}" if labelled else " " * 27
        self.line("  ".join([label, *_RULES[1 : columns + 1]]) + " ")

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
    ) -> None:
        """A count with its rates, and its part of a total.

        share: whether the last column is printed. name: the row's name if its label is not
        all of that.
        """
        figures = [
            text_of(count / self.seconds, 12, 1),
            text_of(count / self.transactions, 12, 1) if xact else _ABSENT,
            text_of(count, 10),
        ]
        if share:
            figures.append(
                _ABSENT if total is None else text_of(100.0 * count / total if total else 0.0, 5, 1)
            )
        self.figures(indent, label, figures, name)

    def gauge(self, indent: int, label: str, value: float, decimals: int = 0, *, name: str = "") -> None:
        """A figure without rates, in the count column."""
        self.figures(indent, label, [_ABSENT, _ABSENT, text_of(value, 10, decimals), _ABSENT], name)

    def percent(self, indent: int, label: str, value: float) -> None:
        """A percentage alone."""
        self.figures(indent, label, [_ABSENT, _ABSENT, _ABSENT, text_of(value, 5, 1)])

    def nothing(self, indent: int, label: str, *, name: str = "") -> None:
        """Replaces a block in which nothing happened."""
        self.row(indent, label, 0, name=name)

    def figures(self, indent: int, label: str, texts: Sequence[str], name: str = "") -> None:
        """A row of the four usual columns."""
        line = " " * indent + label
        for text, edge, measure in zip(texts, _EDGES, _MEASURES, strict=False):
            line = put(line, text, edge)
            if measure == "percent_of_total" and text != _ABSENT:
                line += " %"
            self.record(name or " ".join(label.split()), measure, text)
        self.line(line)

    def record(self, row: str, measure: str, text: str) -> None:
        """Remember a figure as it was printed."""
        if text.strip() != _ABSENT:
            value = None if "*" in text else float(text)
            self.printed.append(Printed(self._section, tuple(self._path), row, measure, value))
