"""Proves the figures of a report by its own redundancy: what should be equal by arithmetic, is it?

Nearly every figure is printed as a count, per second and per transaction, and as a part of a total. identities.csv says
which rows add up, which are shares and which are ratios. A figure is verified if an identity that it takes part in
holds, and would not hold with another last digit. A figure is contradicted if an identity fails and nothing else
verifies it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ase_exporter.assets import shipped_rows
from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.sysmon.grammar import Names, Rows, Term, terms
from ase_exporter.sysmon.structure import (
    COUNT,
    PER_SEC,
    PER_XACT,
    PERCENT_OF_TOTAL,
    Cell,
    Remark,
    Report,
    Row,
)

# Half of the last printed digit, and what binary fractions add.
_HALF = 0.501
# By how much a figure of one decimal may differ from what it was rounded from.
_ROUNDED = 0.0501
# Of a share whose total is read a moment later.
_ABOUT = 0.1
_CPU_SLACK = 0.002
_COMMITS = "Committed Xacts"
_LOAD = "avg_1_min"
_SUMS = ("sum", "full", "parts")
_STATES = ("user_busy", "system_busy", "cpu_busy", "io_busy", "idle")
_MIN_SLACK, _SLACK = 5.0, 0.25


@dataclass(frozen=True, slots=True)
class Relation:
    """One line of identities.csv.

    kind: sum (the counts of `of` add up to the row), full (the same, if none of them lacks), parts (a sum, of which the
    percentages of its parts are shares), rest (a sum whose last part is what the others leave, unless they leave
    nothing), share (the row's percentage is its share of the sum of `of`), ratio (the row's figure is the quotient of
    the two), percent (100 times that), whole (the quotient of a whole number and the count of `of`); of the tables
    without counts see `_table`.
    An empty label stands for parts without a row for their sum.
    """

    kind: str
    path: Names
    label: str
    of: tuple[Term, ...]


@cache
def identities() -> dict[str, list[Relation]]:
    """The identities that ship with this package, by section."""
    found: defaultdict[str, list[Relation]] = defaultdict(list)
    for line in shipped_rows(Path(__file__).with_name("identities.csv")):
        path = tuple(part for part in line["path"].split(" / ") if part)
        found[line["section"]].append(Relation(line["kind"], path, line["label"], terms(line["of"])))
    return found


def prove(report: Report) -> None:
    """Set the quality of every figure, and note the identities that fail."""
    _Proof(report).run()


class _Proof:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._wrapped = any(cell.wrapped for _, _, cell in report.cells())
        self._pinned: set[int] = set()
        self._failures: list[tuple[Remark, Sequence[Cell]]] = []
        # How many parts a total above 0 has.
        self._parts: Counter[Names] = Counter()

    def run(self) -> None:
        self._rates()
        for section in self._report.sections:
            rows = Rows(section)
            for identity in identities().get(section.name, ()):
                self._identity(identity, section.name, rows)
        if not self._wrapped:
            self._report.missing += [
                f"parts of {' / '.join(total)}" for total, n in self._parts.items() if not n
            ]
        for failure, cells in self._failures:
            self._report.contradictions.append(failure)
            loose = [cell for cell in cells if id(cell) not in self._pinned]
            for cell in loose or cells:
                cell.quality = "contradicted"
        for _, _, cell in self._report.cells():
            if id(cell) in self._pinned and cell.quality != "contradicted":
                cell.quality = "verified"

    def _check(self, holds: bool, row: Row, what: str, pinned: Sequence[Cell], cells: Sequence[Cell]) -> None:
        """Note an identity: `pinned` are its cells that could not be otherwise where it holds."""
        if holds:
            self._pinned.update(map(id, pinned))
        else:
            name = " / ".join((*row.path, row.label))
            self._failures.append((Remark(row.line, f"{name}: {what}"), cells))

    def _expect(
        self, row: Row, cell: Cell, low: float, high: float, text: str, others: Sequence[Cell] = ()
    ) -> None:
        """A figure is a number between two bounds, rounded to its printed digits."""
        digit = 10.0 ** -len(cell.text.partition(".")[2])
        slack = digit * _HALF + 1e-9 * max(abs(low), abs(high))
        holds = low - slack <= cell.value <= high + slack
        certain = cell.value + digit > high + slack and cell.value - digit < low - slack
        self._check(holds, row, text, [cell] if certain else [], [cell, *others])

    def _rates(self) -> None:
        """Counts divided by seconds and by transactions, which are the same for all rows."""
        rows = [
            (row, count, {cell.measure: cell for cell in row.cells})
            for section in self._report.sections
            for row in section.rows
            if (count := _cell(row, COUNT)) is not None
        ]
        for measure, step, what in ((PER_SEC, 0.001, "seconds"), (PER_XACT, 1.0, "transactions")):
            pairs = [(row, count, cells[measure]) for row, count, cells in rows if measure in cells]
            low, high = _divisor([(count.value, rate.value) for _, count, rate in pairs], step)
            if measure == PER_SEC:
                self._interval(low, high)
            else:
                commits = [max(count.value, 1.0) for row, count, _ in rows if row.label == _COMMITS]
                low, high = next(((known, known) for known in commits if low <= known <= high), (low, high))
            for row, count, rate in pairs if low else ():
                least, most = sorted((count.value / low, count.value / high))
                text = f"{rate.text} {measure} is not {count.text} by the {what} of the other rows"
                self._expect(row, rate, least, most, text, [count])
                more, fewer = (abs(count.value) + 1) / high, (abs(count.value) - 1) / low
                if fewer + _ROUNDED < abs(rate.value) < more - _ROUNDED:
                    self._pinned.add(id(count))

    def _interval(self, low: float, high: float) -> None:
        """The figures are of the header's interval, or of a longer one by its own times: waits end late under load."""
        header = self._report.header
        if header.interval is None or not low or not header.interval.total_seconds():
            return
        seconds = header.interval.total_seconds()
        slack = max(_MIN_SLACK, _SLACK * seconds)
        if low - slack <= seconds <= high + slack:
            return
        text = f"the figures are of {low:.1f} seconds, the header is of {seconds:.0f}"
        took = (header.ended - header.started).total_seconds() if header.started and header.ended else 0.0
        # Both times are cut off to seconds.
        late = seconds < low <= took + 1.0 and took - 1.0 <= high
        remarks = self._report.warnings if late else self._report.contradictions
        remarks.append(Remark(0, f"{text}: the sample took longer than was asked for" if late else text))

    def _identity(self, identity: Relation, section: str, rows: Rows) -> None:
        if not identity.label:
            blocks: defaultdict[Names, list[Row]] = defaultdict(list)
            for row in rows.of((), (), identity.of):
                blocks[row.path[: len(identity.path)]].append(row)
            for members in blocks.values():
                self._judge(identity, members[0], members)
            return
        # Shares of all are not of the block that the row is in.
        pattern = () if identity.kind == "share of all" else identity.path
        for row in rows.at(identity.path, identity.label):
            of = list(rows.of(pattern, row.path[: len(pattern)], identity.of))
            if identity.kind in _SUMS and row.get(COUNT):
                self._parts[section, *row.path, row.label] += len(of)
            # A block that adds up to 0 by a counter that wrapped is not printed, and lacks in the sum.
            partly = identity.kind == "full" or (identity.kind == "sum" and self._wrapped)
            if of and not (partly and _lacks(rows, identity.of)):
                self._judge(identity, row, of)

    def _judge(self, identity: Relation, row: Row, terms: Sequence[Row]) -> None:
        """Check one identity of a row, or of the first of rows without a total."""
        match identity.kind:
            case "ratio" | "percent":
                self._ratio(row, terms, 100.0 if identity.kind == "percent" else 1.0)
            case "whole":
                self._whole(row, terms[0])
            case "cells" | "mean" | "mean of all" | "busy" | "hundred" | "units" | "throughput" | "load":
                self._table(identity, row, terms)
            case _ if any(term.get(COUNT) is None for term in terms):
                return
            case "rest" if not terms[-1].get(COUNT):
                return
            case "share" | "share of all" | "about":
                self._shares([row], _sum(terms), terms, _ABOUT if identity.kind == "about" else 0.0)
            case "parts" if not identity.label:
                self._shares(terms, _sum(terms), terms)
            case _:
                self._sum(identity, row, terms)

    def _sum(self, identity: Relation, row: Row, terms: Sequence[Row]) -> None:
        """A count is the sum of its parts."""
        count = _cell(row, COUNT)
        if count is None:
            return
        cells = [count, *(cell for term in terms if (cell := _cell(term, COUNT)))]
        text = f"{count.text} is not the sum of its parts ({_sum(terms):.0f})"
        self._check(math.isclose(count.value, _sum(terms), rel_tol=1e-12), row, text, cells, cells)
        if identity.kind == "parts":
            self._shares(terms, count.value, [row])

    def _shares(self, rows: Sequence[Row], total: float, of: Sequence[Row], about: float = 0.0) -> None:
        """Percentages are counts divided by a total."""
        if any(COUNT in row.overflow for row in (*rows, *of)):
            return
        for row in rows:
            percent, count = _cell(row, PERCENT_OF_TOTAL), _cell(row, COUNT)
            if percent is None or count is None:
                continue
            share = 100.0 * count.value / total if total else 0.0
            text = f"{percent.text} % is not {count.text} of {total:.0f}"
            self._expect(row, percent, share - about, share + about, text, [count])

    def _ratio(self, row: Row, terms: Sequence[Row], times: float) -> None:
        if len(terms) != 2 or not row.cells:
            return
        cell = row.cells[0]
        over, under = terms[0].get(COUNT), terms[1].get(COUNT)
        if over is None or not under:
            return
        # Without decimals it is cut off, not rounded.
        cut = 0.0 if "." in cell.text else 0.5
        text = f"{cell.text} is not {over:.0f} divided by {under:.0f}"
        self._expect(row, cell, times * over / under - cut, times * over / under + cut, text)

    def _whole(self, row: Row, term: Row) -> None:
        """A quotient of a whole number: the count is the sum of so many."""
        under = abs(term.get(COUNT) or 0.0)
        for cell in row.cells:
            slack = under * 10.0 ** -len(cell.text.partition(".")[2]) * _HALF
            rest = abs(cell.value * under - round(cell.value * under))
            self._check(rest <= slack, row, f"{cell.text} of {under:.0f} is no whole number", [], [cell])

    def _table(self, identity: Relation, row: Row, terms: Sequence[Row]) -> None:
        """Tables whose figures are no counts: busy shares of engines and threads, lengths of queues."""
        if any(one.overflow or any(cell.wrapped for cell in one.cells) for one in (row, *terms)):
            return
        parts = terms[1:] if identity.kind.startswith("mean") else _coarsest(terms)
        states = [cell for cell in row.cells if cell.measure in _STATES]
        whole = math.fsum(cell.value for cell in states)
        rest = abs(whole - 100.0 * round(whole / 100.0))
        match identity.kind:
            case "busy":
                members = terms if "Summary" in row.label else [row]
                over = whole > 100.0 and any(member.get("idle") == 0 for member in members)
                holds = over or rest <= _ROUNDED * len(states)
                self._check(holds, row, f"{whole:.1f} is no whole number of engines", [], states)
            case "hundred":
                shares = [cell for term in terms if (cell := _cell(term, PERCENT_OF_TOTAL))]
                whole = math.fsum(cell.value for cell in shares)
                holds = not whole or abs(whole - 100.0) <= _ROUNDED * len(shares)
                self._check(holds, row, f"the shares add up to {whole:.1f} %", [], shares)
            case "units" | "throughput":
                for cell in row.cells:
                    self._cpu(row, cell, terms[0], is_rate=identity.kind == "throughput")
            case "load":
                share, load = _cell(row, PERCENT_OF_TOTAL), _cell(row, _LOAD)
                total, slack = math.fsum(one.get(_LOAD) or 0.0 for one in parts), _ROUNDED * len(parts)
                if share and load and total > slack:
                    text = f"{share.text} % is not {load.text} of {total:.1f}"
                    most = 100.0 * (load.value + _ROUNDED) / (total - slack)
                    least = 100.0 * (load.value - _ROUNDED) / (total + slack)
                    self._expect(row, share, least, most, text, [load])
            case "cells":
                for cell in row.cells:
                    found = [part for term in parts if (part := _cell(term, cell.measure))]
                    if found and not (cell.measure == "idle" and "Thread" in row.path[0]):
                        total, slack = math.fsum(part.value for part in found), _ROUNDED * len(found)
                        text = f"{cell.text} is not the sum of its parts ({total:.1f})"
                        self._expect(row, cell, total - slack, total + slack, text, found)
            case _:
                number = len(parts) if identity.kind == "mean" else _threads(terms[0], parts)
                for cell in row.cells if number else ():
                    total_cell = _cell(terms[0], cell.measure)
                    if total_cell is not None and cell.measure not in (PER_SEC, PER_XACT):
                        # Without decimals it is cut off, not rounded.
                        slack = (_ROUNDED if "." in cell.text else 0.5 * number) / number
                        mean = total_cell.value / number
                        text = f"{cell.text} is not the mean of {number}"
                        self._expect(row, cell, mean - slack, mean + slack, text, [total_cell])

    def _cpu(self, row: Row, cell: Cell, total: Row, *, is_rate: bool) -> None:
        """The CPUs that the threads used are their busy shares, and commits are divided by them."""
        used = sum(total.get(state) or 0.0 for state in ("user_busy", "system_busy")) / 100.0
        least, most = used - _CPU_SLACK, used + _CPU_SLACK
        if not is_rate:
            self._expect(row, cell, least, most, f"the threads are busy for {used:.2f} CPUs")
            return
        commits = self._report.find(SECTION_KEYWORDS["xactsum"], _COMMITS)
        rate = commits.get(PER_SEC) if commits else None
        if rate is not None and rate >= 0 and least > 0:
            text = f"{rate} commits with {used:.2f} CPUs"
            self._expect(row, cell, (rate - _ROUNDED) / most, (rate + _ROUNDED) / least, text)


def _cell(row: Row, measure: str) -> Cell | None:
    return next((cell for cell in row.cells if cell.measure == measure), None)


def _coarsest(rows: Sequence[Row]) -> list[Row]:
    """The summaries of pools in place of their engines or threads: they are rounded once."""
    summed = {row.path for row in rows if row.label.startswith("Pool Summary")}
    return [row for row in rows if row.path not in summed or row.label.startswith("Pool Summary")]


def _threads(total: Row, shown: Sequence[Row]) -> int:
    """How many threads a total is of, idle ones included; 0 where one was busy for more than all of the time."""
    if any(row.get("idle") == 0 for row in shown):
        return 0
    whole = math.fsum(cell.value for cell in total.cells) / 100.0
    return round(whole) if abs(whole - round(whole)) < 0.01 else 0


def _lacks(rows: Rows, wanted: Sequence[Term]) -> bool:
    """Whether one of these rows is not there, or not in each cache or pool."""
    return any(
        len(list(rows.at(path, label))) < max(len(rows.blocks.get(path[:1], ())), 1) for path, label in wanted
    )


def _sum(rows: Sequence[Row]) -> float:
    return math.fsum(row.get(COUNT) or 0.0 for row in rows)


def _divisor(pairs: Sequence[tuple[float, float]], step: float) -> tuple[float, float]:
    """The range of the multiple of a step that divides the most counts into their rates; zeros without any."""
    ends: list[tuple[float, int]] = []
    for count, rate in pairs:
        if count * rate <= 0:
            continue
        slack = _ROUNDED + abs(rate) * 1e-9
        low = math.ceil(abs(count) / (abs(rate) + slack) / step) * step
        high = math.floor(abs(count) / (abs(rate) - slack) / step) * step if abs(rate) > slack else math.inf
        if low <= high:
            ends += [(low, -1), (high, 1)]
    ends.sort()
    depth = best = 0
    low = high = 0.0
    for at, (value, change) in enumerate(ends):
        depth -= change
        if depth > best:
            best, low, high = depth, value, ends[at + 1][0]
    return (low, high) if best > 1 or len(ends) == 2 else (0.0, 0.0)
