"""The load profile: what a server does in each second and in each transaction, from its counters. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ase_exporter.config import yaml_files
from ase_exporter.views.figures import shown
from ase_exporter.views.view import Section, Table, columns

# Rows of each table of a report.
MAX_ROWS = 15


@dataclass(frozen=True, slots=True)
class LoadCounter:
    """One row: a counter, summed over its series. modes: of the label `mode`, if only those count."""

    title: str
    metric: str
    modes: tuple[str, ...] = ()

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels counts."""
        return not self.modes or labels.get("mode") in self.modes


COUNTERS = yaml_files.load_shipped(Path(__file__).with_suffix(".yaml"), list[LoadCounter])


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Of one counter; None where it is not known, or there were no transactions."""

    title: str
    per_second: float | None
    per_transaction: float | None


def load_profile(rates: Mapping[str, float]) -> list[LoadRow]:
    """All rows. rates: growth per second by title, without those that are not known."""
    transactions = rates.get(COUNTERS[0].title)
    found = []
    for each in COUNTERS:
        rate = rates.get(each.title)
        per_transaction = rate / transactions if rate is not None and transactions else None
        found.append(LoadRow(each.title, rate, per_transaction))
    return found


def mean_by_name(found: Iterable[Mapping[str, float]]) -> list[tuple[str, float]]:
    """The means over all moments by name, the largest first; a name that a moment lacks was 0 in it."""
    moments = list(found)
    names = {name for each in moments for name in each}
    means = {name: math.fsum(each.get(name, 0.0) for each in moments) / len(moments) for name in names}
    return ranked({name: mean for name, mean in means.items() if mean})


def ranked(found: Mapping[str, float]) -> list[tuple[str, float]]:
    """The largest values by name."""
    return sorted(found.items(), key=lambda row: -row[1])[:MAX_ROWS]


def load_section(rows: Iterable[LoadRow]) -> Section:
    """The load as a section of a report."""
    figures = ("per second", "per transaction")
    cells = [(each.title, shown(each.per_second), shown(each.per_transaction)) for each in rows]
    return Section("Load", [Table(columns("", *figures, figures=figures), cells)])


def ranked_section(
    title: str, what: str, unit: str, rows: Sequence[tuple[str, float]], reason: str = ""
) -> Section:
    """The largest values by name. what, unit: titles of both columns. reason: why it is not known, '' if it is."""
    empty = f"Not known: {reason}." if reason else "None."
    cells = [(name, shown(value)) for name, value in rows]
    return Section(title, [Table(columns(what, unit, figures=(unit,)), cells, empty=empty)])
