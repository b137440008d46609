"""The load of one server over a window, and the tables that tables.yaml names."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ase_exporter.compare.prometheus import Prometheus, range_text
from ase_exporter.compare.windows import Span
from ase_exporter.config import yaml_files
from ase_exporter.diagnosis.catalogue import Selection, catalogue
from ase_exporter.diagnosis.promql import grouped, over
from ase_exporter.diagnosis.provenance import collectors
from ase_exporter.untrusted.encoders import promql
from ase_exporter.views.figures import Unit

# Evaluations of a mean.
POINTS = 300
# Seconds: a rate needs a few scrapes.
MIN_WINDOW = 300.0
# Seconds to which alerts are known in periods of up to a week, and how many steps there are in longer ones.
MIN_FINE, MAX_FINE = 60.0, 10_100


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCounter(Selection):
    """One row of the load: a counter, summed over its series."""

    title: str


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Of one counter; None where it is not known, or there were no transactions."""

    title: str
    per_second: float | None
    per_transaction: float | None


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """One table, as tables.yaml explains. rows: names and value, the largest first, or the smallest. reason: why it is
    not known; '' if it is, or if nothing happened."""

    title: str
    what: str
    unit: str
    metric: str
    label: tuple[str, ...]
    query: str = ""
    counter: Selection | None = None
    form: Unit = "plain"
    least: bool = False
    most: int = 15
    rows: Sequence[tuple[tuple[str, ...], float]] = ()
    reason: str = ""


@cache
def empty_tables() -> Mapping[str, ProfileTable]:
    """All tables by name, without rows."""
    return yaml_files.load_shipped(Path(__file__).with_name("tables.yaml"), dict[str, ProfileTable])


class ProfileReader:
    """Reads the load and the tables of one server over a window from Prometheus. scrape: seconds between scrapes."""

    def __init__(self, server: Prometheus, selector: str, span: Span, scrape: float) -> None:
        self._server = server
        self._end = span.end
        window = max(MIN_WINDOW, 4 * scrape)
        step = max(window, span.seconds / POINTS)
        fine = max(MIN_FINE, math.ceil(span.seconds / MAX_FINE))
        self._places = {
            "SELECTOR": selector,
            "PERIOD": range_text(span.seconds),
            "WINDOW": range_text(window),
            "EDGE": range_text(2 * scrape),
            "MEAN": f"{range_text(span.seconds)}:{range_text(step)}",
            "FINE_SECONDS": f"{fine:.0f}",
            "FINE": range_text(fine),
        }

    def load(self) -> list[LoadRow]:
        """The load, all rows of it, transactions first."""
        counters = yaml_files.load_shipped(Path(__file__).with_name("load_profile.yaml"), list[LoadCounter])
        found = [(each.title, next(iter(self._rows(_mean(each)).values()), None)) for each in counters]
        _, transactions = found[0]
        return [
            LoadRow(title, rate, None if rate is None or not transactions else rate / transactions)
            for title, rate in found
        ]

    def table(self, name: str) -> ProfileTable:
        empty = empty_tables()[name]
        chosen, sign = ("bottomk", 1) if empty.least else ("topk", -1)
        query = _mean(empty.counter, empty.label) if empty.counter else empty.query
        found = self._rows(f"{chosen}({empty.most}, {query} > 0)", *empty.label)
        rows = sorted(found.items(), key=lambda row: (sign * row[1], row[0]))
        if name == "account":
            parts = catalogue().account
            rows = [((parts[part].title if part in parts else part,), value) for (part,), value in rows]
        return replace(empty, rows=rows, reason="" if rows else self._reason(empty.metric))

    def _reason(self, metric: str) -> str:
        """Why Prometheus has no rows of a metric; '' if its collector was read, or the rules record it."""
        if metric not in collectors():
            recorded = self._rows(f"count(last_over_time({metric}[PERIOD]))")
            return "" if recorded else f"Prometheus has no series {metric}, which the shipped rules make"
        name, collector = collectors()[metric]
        success = f"ase_exporter_collector_success{{SELECTOR, collector={promql(name)}}}"
        if 1.0 in self._rows(f"max(max_over_time({success}[PERIOD]))").values():
            return ""
        default = "" if collector.default else ", which is off by default,"
        return f"the collector {name}{default} was not read in the period"

    def _rows(self, query: str, *labels: str) -> dict[tuple[str, ...], float]:
        # In one pass: a selector may hold the name of a place.
        filled = re.sub("|".join(self._places), lambda found: self._places[found[0]], query)
        found = self._server.query(filled, self._end)
        return {tuple(each.labels.get(label, "") for label in labels): each.value for each in found}


def _mean(counter: Selection, by: Sequence[str] = ()) -> str:
    """The mean of the rates over each window at whose begin and end it was scraped, so that gaps count for nothing."""

    def scraped(when: str) -> str:
        return grouped(
            counter,
            by,
            "SELECTOR",
            lambda each, limits: f"last_over_time({each.metric}{{{limits}}}[EDGE]{when})",
        )

    rates = grouped(counter, by, "SELECTOR", over("[WINDOW]"))
    return f"avg_over_time(({rates} and {scraped(' offset WINDOW')} and {scraped('')})[MEAN])"
