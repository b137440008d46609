"""On simulated servers of every version, mon_role alone reads everything that the version has, and no more."""

import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.versions import VERSIONS

from ase_exporter.catalogue import ServerFacts, load_catalogue, plan, read_facts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.exposition import render_text
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.refused_databases import RefusedDatabases

Simulated = Any
CATALOGUE, _ = load_catalogue()
EVERYTHING = dict.fromkeys(CATALOGUE.collectors, True)
# Metrics that mark what a version brought.
BROUGHT_BY = {
    "ase_engine_cpu_seconds_total": "12.5.0.3",
    "ase_cache_logical_reads_total": "12.5.0.3",
    "ase_waits_total": "12.5.0.3",
    "ase_processes": "12.5.0.3",
    "ase_statement_cache_hits_total": "15.0.2",
    "ase_database_free_bytes": "12.5.0.3",
    "ase_run_queue_length": "15.5",
    "ase_thread_cpu_seconds_total": "15.7",
    "ase_spinlock_grabs_total": "15.7 ESD#2",
    "ase_spinlock_slot_spins_total": "15.7 SP100",
    "ase_statements_total": "15.7 SP100",
    "ase_operation_seconds_total": "15.7 SP100",
    "ase_statement_cpu_seconds_total": "15.7 SP130",
    "ase_cache_cas_grabs_total": "16.0 SP02",
    "ase_snap_plans_executed_total": "16.0 SP02",
    "ase_procedure_elc_chunks": "16.0 SP03 PL08",
}


def read_everything(server: Simulated, facts: ServerFacts, selection: dict[str, bool]) -> list[Family]:
    """One reading of all chosen collectors; any error of the server is one of the test."""
    counters, made = CounterStore(), list[Family]()
    with server.login("monitor") as query:
        for number, collector in enumerate(plan(CATALOGUE, facts, selection)):
            if collector.available:
                rows = RefusedDatabases("ONE").ask(collector, query)
                made += collector.families(rows, counters, float(number))
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_its_metrics_to_mon_role_by_the_rules_of_prometheus(
    simulated: Callable[..., Simulated], facts_of: Callable[[str], ServerFacts], version: str
) -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is part of Debian's package prometheus"
    facts = facts_of(version)
    made = read_everything(simulated(version, "quiet-oltp"), facts, EVERYTHING)
    names = {family.name for family in made}
    assert len(names) == len(made)
    for name, since in BROUGHT_BY.items():
        assert (name in names) == (facts.version >= parse_version(since)), name
    assert facts.cluster == version.endswith("CE")
    for family in made:
        if facts.cluster and family.name in ("ase_engine_cpu_seconds_total", "ase_cache_logical_reads_total"):
            assert "instance_id" in family.labels
    judged = subprocess.run(
        [promtool, "check", "metrics"],
        input=render_text([*made, *CounterStore().families()]),
        capture_output=True,
        text=True,
        check=False,
    )
    # It is about counters, and no promise of a type.
    named = "ase_exporter_resets_total metric name should not include type 'counter'\n"
    assert judged.stderr.replace(named, "") == ""


def test_default_scrape_of_the_memscale_server_is_small(simulated: Callable[..., Simulated]) -> None:
    server = simulated("16.0 SP03", "memscale")
    with server.login("monitor") as query:
        facts = read_facts(query)
    made = read_everything(server, facts, {})
    assert sum(len(family.samples) for family in made) < 2000
    for family in made:
        if family.name not in ("ase_info",):
            assert "(" in family.help, f"{family.name} does not name its source"
