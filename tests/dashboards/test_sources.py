"""Panels say of sources, units and missing data what the catalogue says."""

import pytest
from dashboards.queries import Query, per
from dashboards.sources import NO_SERVER, described, reason, unit_of


@pytest.mark.parametrize(
    ("expr", "sources"),
    [
        ("ase:cpu_busy:ratio_rate1m{$selector}", "monEngine"),
        ("ase_connections{$selector}", "monState.Connections"),
        ("ase_processes{$selector}", "sysprocesses"),
        ("ase_exporter_series_cut{$selector}", "ase_exporter_series_cut"),
    ],
)
def test_the_sources_of_a_panel_are_those_of_its_metrics(expr: str, sources: str) -> None:
    assert described("What it shows.", Query(expr)) == f"What it shows. Source: {sources}."


def test_a_description_that_names_its_sources_is_left_alone() -> None:
    assert described("Free. Source: /proc/meminfo.", Query("ase_up")) == "Free. Source: /proc/meminfo."


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (
            "ase:spinlock_spins:rate1m{$selector}",
            ["spinlocks is off", "mon_role", "`enable spinlock monitoring`"],
        ),
        ("ase_resource_used{$selector}", ["resource_usage is off", "sa_role"]),
        ("ase_up{$selector}", [NO_SERVER]),
        ("dbhost:tlb_misses:ratio_rate1m{$machine}", ["perf"]),
        ("dbhost_process_minor_faults_total{$machine}", ["process"]),
    ],
)
def test_a_panel_without_data_says_what_may_be_missing(expr: str, words: list[str]) -> None:
    assert all(word in reason([Query(expr)]) for word in words), reason([Query(expr)])


@pytest.mark.parametrize(
    ("query", "unit"),
    [
        (Query("topk(10, rate(ase_network_bytes_total{$selector}[$__rate_interval]))"), "Bps"),
        (Query("sum by (instance) (ase_cache_size_bytes{$selector})"), "bytes"),
        (Query("rate(ase_wait_seconds_total{$selector}[$__rate_interval])"), "short"),
        (Query("ase_lock_longest_wait_seconds{$selector}"), "s"),
        (Query("ase:transactions:rate1m{$selector}"), "count:/s"),
        (Query("ase_engines{$selector}"), "none"),
        (per("ase_logical_reads_total", "ase_transactions_total"), "short"),
    ],
)
def test_the_unit_of_one_metric_is_that_of_its_name(query: Query, unit: str) -> None:
    assert unit_of([query]) == unit
