"""A server with 200 databases and all defaults, as far as the series limit: nothing that pages is cut."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

import pytest
from tests.exporter.many_databases import many_databases
from tests.exporter.simulated import Simulated, run, scrape
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult

COUNT = 200
NAME = re.compile(r"\base[_:][a-z0-9_:]+")
OF_DATABASES = {
    "ase_database_free_bytes",
    "ase_database_state",
    "ase_database_log_full",
    "ase_database_log_waits_total",
    "ase_database_suspended_processes",
    "ase_database_backup_failed",
    "ase_database_oldest_transaction_seconds",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    scenario = many_databases(tmp_path_factory.mktemp("scenario"), COUNT)
    # Time stands still then, so that no series begins after the first scrape.
    with run("16.0 SP04", scenario, speed=0.0) as running:
        running.advance(3600.0)
        yield running


@pytest.fixture(scope="module")
def result(server: Simulated) -> ScrapeResult:
    scraper = server.scraper()
    scraped = scrape(scraper)
    scraper.close()
    return scraped


def needed() -> set[str]:
    """Metrics that alerts read, through recording rules too, and those of the diagnosis."""
    files = sorted((REPOSITORY / "alerts/rules").glob("*.yaml"))
    rules = [
        rule for file in files for group in load_yaml(file.read_text())["groups"] for rule in group["rules"]
    ]
    found = {name for rule in rules if "alert" in rule for name in NAME.findall(rule["expr"])}
    found |= {*NAME.findall((REPOSITORY / "exporter/ase_exporter/diagnosis/findings.yaml").read_text())}
    while (
        more := {name for rule in rules if rule.get("record") in found for name in NAME.findall(rule["expr"])}
        - found
    ):
        found |= more
    return found


def series(families: Iterable[Family]) -> set[tuple[str, ...]]:
    return {(family.name, *labels) for family in families for labels, _ in family.samples}


def test_no_series_that_an_alert_or_the_diagnosis_reads_is_cut(result: ScrapeResult) -> None:
    exposed = result.all_families(stuck=False)
    read, kept = series(chain.from_iterable(result.collected.values())), series(exposed)
    cut = Counter(name for name, *_ in read - kept)
    assert cut.total() == sum(
        value for each in exposed if each.name == "ase_exporter_series_cut" for _, value in each.samples
    )
    assert cut and not cut.keys() & needed()
    databases = {f"db{number:04}" for number in range(1, COUNT + 1)}
    for name in OF_DATABASES:
        (family,) = (each for each in exposed if each.name == name)
        place = family.labels.index("database")
        assert databases <= {labels[place] for labels, _ in family.samples}, name


@pytest.mark.slow
def test_check_counts_the_series_of_a_scrape(server: Simulated, result: ScrapeResult) -> None:
    report = server.check().report()
    read = series(chain.from_iterable(result.collected.values()))
    kept = read & series(result.all_families(stuck=False))
    assert report.series == (len(read), len(read) - len(kept))
