"""Words and numbers of a line: figures, absent and overflown ones, signs, decoration, and everything else."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["number", "absent", "overflow", "sign", "decoration", "word"]
Columns = tuple[str, ...]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_OVERFLOW = re.compile(r"\*{5,}")
_ABSENT = ("n/a", "na", "null", "(null)")
_WORD = re.compile(r"\S+")
_FIRST_WORD = re.compile(r"\s*\S+")
_VALUES: tuple[Kind, ...] = ("number", "absent", "overflow", "sign")
_GROUPED = re.compile(r"(?<![\w.,'])[+-]?\d{1,3}(?:[.,'_]\d{2,3})+(?:[.,]\d+)?(?![\w'])")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])[+-]?(?:\d[\d.' ]*)?\d,\d(?: ?%|(?![\w.,]))")
_DECIMAL_POINT = re.compile(r"(?<![\w.,])[+-]?(?:\d[\d,' ]*)?\d\.\d(?: ?%|(?![\w.]))")
_COMMAS_BETWEEN = re.compile(r"\d\.\d(?: ?%)?,|,n/a\b")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a line. number: of a figure; percent: whether a percent sign belongs to it."""

    text: str
    start: int
    end: int
    kind: Kind
    number: float | None = None
    percent: bool = False

    @property
    def is_value(self) -> bool:
        """Whether it fills a column."""
        return self.kind in _VALUES


def words(text: str) -> list[Word]:
    """The words of a line without decoration; a percent sign is joined to the number before it."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        kind, number, percent = _classified(match[0])
        if kind == "decoration":
            continue
        start, end = match.span()
        if kind == "sign" and found and found[-1].kind in ("number", "overflow") and not found[-1].percent:
            before = found[-1]
            found[-1] = Word(before.text, before.start, end, before.kind, before.number, True)
            continue
        found.append(Word(match[0].rstrip("%") if percent else match[0], start, end, kind, number, percent))
    return found


@lru_cache(maxsize=1 << 15)
def _classified(word: str) -> tuple[Kind, float | None, bool]:
    if word == "%":
        return "sign", None, False
    bare = word.removesuffix("%")
    if _NUMBER.fullmatch(bare):
        value = float(bare)
        return ("number", value, bare != word) if abs(value) < 1e300 else ("word", None, False)
    if _OVERFLOW.fullmatch(bare):
        return "overflow", None, bare != word
    if word.casefold() in _ABSENT:
        return "absent", None, False
    return ("word" if any(letter.isalnum() for letter in word) else "decoration"), None, False


def local_numbers(lines: Iterable[str]) -> "Locale":
    """How the numbers of a text are written, by what most of them can only be."""
    commas = points = between = 0
    for line in lines:
        if "," in line:
            commas += len(_DECIMAL_COMMA.findall(line))
            between += len(_COMMAS_BETWEEN.findall(line))
        if "." in line:
            points += len(_DECIMAL_POINT.findall(line))
    return Locale("," if commas > points else ".", between > max(points, 1) / 2)


@dataclass(frozen=True, slots=True)
class Locale:
    """The decimal mark of a text; comma_separated: whether commas stand between its columns."""

    decimal: str
    comma_separated: bool

    def plain(self, line: str) -> str:
        """The line with its numbers as Python writes them."""
        if self.comma_separated:
            return line.replace(",", " ")
        if self.decimal != "," and "," not in line and "'" not in line and "_" not in line:
            return line
        # A line begins with a label or a name, which may look like a grouped number: 9_10.
        label = _FIRST_WORD.match(line)
        start = label.end() if label else 0
        figures = _GROUPED.sub(self._ungrouped, line[start:])
        if self.decimal == ",":
            figures = re.sub(r"(?<![\w.,])([+-]?\d+),(\d+)(?=[\s%]|$)", r"\1.\2", figures)
        return line[:start] + figures

    def _ungrouped(self, match: re.Match[str]) -> str:
        whole, mark, rest = match[0].rpartition(self.decimal)
        if mark:
            digits = re.sub(r"[.,'_]", "", whole)
            return f"{digits}{mark}{rest}" if whole else match[0]
        return re.sub(r"[.,'_]", "", match[0])


def joined_groups(values: Sequence[Word], count: int) -> list[Word]:
    """Figures of the usual four columns whose thousands are set apart by blanks ('13 420 473').

    count: of columns.
    """
    found: list[Word] = []
    left = len(values) - count
    # Rates have one decimal and counts none, which tells where each of them ends.
    for value in values:
        before = found[-1] if found else None
        if (
            left
            and before is not None
            and before.kind == value.kind == "number"
            and not before.percent
            and before.text.lstrip("+-").isdigit()
            and re.fullmatch(r"\d{3}(?:\.\d+)?", value.text)
            and (not value.percent or values[0].percent)
        ):
            text = before.text + value.text
            found[-1] = Word(text, before.start, value.end, "number", float(text), value.percent)
            left -= 1
        else:
            found.append(value)
    return found


def in_columns(values: Sequence[Word], slots: Columns, columns: Columns) -> list[tuple[str, Word]] | None:
    """The column of each value; None where that is not certain.

    slots: all columns of the table; columns: those in which the row can have figures.
    """
    count = len(slots) - (slots[-1] not in columns and values[-1:] != [] and values[-1].kind == "number")
    if len(values) > count:
        values = joined_groups(values, count)
    while len(values) > len(slots) and values[-1].kind in ("absent", "sign"):
        values = values[:-1]
    if len(values) == len(slots):
        return list(zip(slots, values, strict=True))
    present = [value for value in values if value.kind in ("number", "overflow")]
    if not present and values:
        return []
    last = slots[-1]
    if len(values) == len(slots) - 1 and last not in columns and not any(v.percent for v in values):
        return list(zip(slots, values, strict=False))
    if len(present) == len(values) == len(columns) and values:
        return list(zip(columns, values, strict=True))
    return None
