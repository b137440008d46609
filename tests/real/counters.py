"""Totals that the exporter exports, beside the sums of the same columns read by hand before and after."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.real.ase import TIMEOUT, Server

from ase_exporter.ase.connection import Connection
from ase_exporter.catalogue import Catalogue, ServerFacts
from ase_exporter.catalogue.model import UNITS, Metric
from ase_exporter.config import Module, Scrape
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings

# Rows of the session that reads.
_OWN_ROWS = {"own_session"}


@dataclass(frozen=True)
class Source:
    """Columns of a table that totals sum up. columns: metric and value of its `by` label -> column and factor."""

    table: str
    where: str
    columns: Mapping[tuple[str, str], tuple[str, float]]

    def read(self, connection: Connection) -> tuple[int, dict[tuple[str, str], float]]:
        """The number of rows, and the sums in the units of the metrics."""
        sums = ", ".join(f"sum(convert(float, {column}))" for column, _ in self.columns.values())
        sql = f"select count(*), {sums} from master..{self.table}{self.where}"
        ((rows, *values),) = connection.query(sql, time.monotonic() + TIMEOUT)
        factors = [factor for _, factor in self.columns.values()]
        pairs = zip(self.columns, values, factors, strict=True)
        return rows, {key: float(value or 0) * factor for key, value, factor in pairs}


def sources(catalogue: Catalogue, facts: ServerFacts, available: set[str]) -> dict[str, Source]:
    """By collector: what can be summed by hand, of tables that are read whole."""
    found = {}
    for name in sorted(available - _OWN_ROWS):
        collector = catalogue.collectors[name]
        if not collector.table or collector.top or collector.events or collector.generation:
            continue
        present = {column.lower(): column for column in facts.tables.get(collector.table, {})}
        columns = {}
        for metric_name, metric in collector.metrics.items():
            if metric_name.endswith("_total") and not metric.count:
                chosen = metric.for_columns([c for c in metric.all_sources() if c.lower() in present])
                for value, column in chosen.sources().items():
                    if column.lower() in present:
                        columns[metric_name, value] = (present[column.lower()], _factor(chosen, facts))
        if columns:
            where = f" where {collector.where}" if collector.where else ""
            found[name] = Source(collector.table, where, columns)
    return found


def _factor(metric: Metric, facts: ServerFacts) -> float:
    return float(facts.page_size) if metric.unit == "server pages" else UNITS[metric.unit][0]


def scraper(server: Server, catalogue: Catalogue) -> TargetScraper:
    """A scraper that reads every collector each time, without a budget."""
    every_time = {name: replace(each, interval=0) for name, each in catalogue.collectors.items()}
    scrape = Scrape(connect_timeout=TIMEOUT, budget=None)
    settings = TargetSettings(server.target, server.monitor, Module(), scrape)
    return TargetScraper(settings, replace(catalogue, collectors=every_time))


def scrape(scraping: TargetScraper) -> dict[str, Family]:
    """The families of one scrape, which must succeed."""
    result = ScrapeResult(time.monotonic() + TIMEOUT)
    scraping.scrape(result)
    assert result.summary.up and not result.summary.error, result.summary.error
    return {family.name: family for family in result.all_families(stuck=False)}


def total(families: Mapping[str, Family], name: str, label: str | None = None, value: str = "") -> float:
    """The sum over the samples of a family, or over those with that value of a label."""
    family = families[name]
    at = family.labels.index(label) if label else 0
    return sum(number for labels, number in family.samples if not label or labels[at] == value)
