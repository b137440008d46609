"""The figures at the end of a line, and the columns that they fill."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ase_exporter.sysmon.grammar import KnownRow
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL

Kind = Literal["number", "absent", "overflow", "sign"]

_WORD = re.compile(r"[^ ]+")
_NUMBER = re.compile(r"-?\d{1,20}(?:[.,](?P<decimals>\d{1,20}))?")
_OVERFLOW = re.compile(r"\*{5,}")
_ONE_DECIMAL = (
    PER_SEC,
    PER_XACT,
    PERCENT_OF_TOTAL,
    PERCENT,
    "cpu_units",
    "avg_1_min",
    "avg_5_min",
    "avg_15_min",
)
_BUSY = ("user_busy", "system_busy", "cpu_busy", "io_busy", "idle", "total", "average")
_SIGNED = (PERCENT_OF_TOTAL, PERCENT, *_BUSY)
# From the right edge of a column to that of the column before it, of counts: the last digit may be cut off.
_COUNT_EDGE, _BUCKET_EDGE = 12, 11
_UNSIGNED = "ULC Log Records"


@dataclass(frozen=True, slots=True)
class Value:
    """One figure of a line, or what stands in its place. end: where it ends, without a percent sign."""

    text: str
    end: int
    kind: Kind
    percent: bool = False

    @property
    def decimals(self) -> int:
        match = _NUMBER.fullmatch(self.text)
        return len(match["decimals"] or "") if match else 0

    @property
    def mark(self) -> str:
        """The decimal mark, '' without decimals."""
        return next((mark for mark in ".," if mark in self.text), "")

    @property
    def number(self) -> float | None:
        return float(self.text.replace(",", ".")) if self.kind == "number" else None


def split(text: str) -> tuple[list[re.Match[str]], list[Value]]:
    """The words of a label, and the values after it. A percent sign belongs to the figure before it."""
    words = list(_WORD.finditer(text))
    values: list[Value] = []
    signed = False
    while words:
        word = words[-1][0]
        bare = word.removesuffix("%")
        kind: Kind
        if word == "%":
            if signed:
                break
            kind, signed = "sign", True
            values.append(Value(word, words.pop().end(), kind))
            continue
        if _NUMBER.fullmatch(bare):
            kind = "number"
        elif _OVERFLOW.fullmatch(bare):
            kind = "overflow"
        elif word == "n/a":
            kind = "absent"
        else:
            break
        if signed and kind != "absent":
            values.pop()
        percent = (signed and kind != "absent") or bare != word
        values.append(Value(bare, words.pop().end() - (bare != word), kind, percent))
        signed = False
    return words, values[::-1]


def in_columns(known: KnownRow, values: Sequence[Value]) -> list[tuple[str, Value]] | None:
    """The column of each figure; None where the row is not as sp_sysmon prints it.

    Rates and percentages have one decimal, percentages a sign, and a count ends where its column does: a row that was
    cut has lost one of them.
    """
    if not any(value.kind in ("number", "overflow") for value in values):
        whole = len(values) == len(known.slots) or not known.columns
        return [] if whole else None
    lacking = len(known.slots) - len(values)
    if lacking and (lacking != 1 or known.slots[-1] != PERCENT_OF_TOTAL or PERCENT_OF_TOTAL in known.columns):
        return None
    found = list(zip(known.slots, values, strict=False))
    if all(_fits(known, measure, value) for measure, value in found) and _ends(known, values):
        return found
    return None


def _fits(known: KnownRow, measure: str, value: Value) -> bool:
    if value.kind == "absent":
        return True
    if value.kind == "sign":
        return measure in _SIGNED
    unsigned = measure not in _SIGNED or _UNSIGNED in known.path
    if value.percent != (measure in _SIGNED) and not (unsigned and measure in _SIGNED):
        return False
    if value.kind == "overflow":
        return True
    if measure in _ONE_DECIMAL or measure in _BUSY:
        return value.decimals == 1
    return measure != COUNT or PER_SEC not in known.columns or not value.decimals


def _ends(known: KnownRow, values: Sequence[Value]) -> bool:
    last = values[-1]
    if len(values) < 2 or last.kind != "number" or last.decimals or last.percent:
        return True
    edge = _BUCKET_EDGE if known.slots[-1] == "found_empty" else _COUNT_EDGE
    return last.end - values[-2].end == edge
