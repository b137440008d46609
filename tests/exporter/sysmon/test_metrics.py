"""Headline figures as metrics."""

import pytest
from tests.exporter.samples import Samples, by_name
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import row, section, table

from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.report import parse


def exported(text: str) -> Samples:
    return by_name(families(parse(text), ended=1_000.0, now=1_030.0))


def sample(found: Samples, name: str) -> dict[tuple[str, ...], float]:
    return found[f"ase_sysmon_{name}"]


WHOLE = samples.report(
    section("Kernel Utilization", samples.ENGINES),
    samples.TRANSACTIONS,
    section("Data Cache Management", samples.cache("default data cache", contention="51.0 %")),
    section(
        "Lock Management",
        table(
            "Lock Detail",
            " ",
            "  Page & Row Lock HashTable",
            "    Spinlock Contention               n/a           n/a         n/a       2.5 %",
        ),
    ),
)


def test_ratios_are_between_0_and_1_and_rates_per_second() -> None:
    found = exported(WHOLE)
    assert sample(found, "server_busy_ratio") == {
        ("user",): 0.5,
        ("system",): 0.04,
        ("io",): 0.01,
        ("idle",): 0.45,
    }
    assert sample(found, "engine_busy_ratio")["0", "user"] == 0.6
    assert sample(found, "committed_transactions_per_second") == {(): 1200.0}
    assert sample(found, "cpu_units") == {(): 1.1}
    assert sample(found, "throughput_per_cpu_unit") == {(): 1090.9}
    assert sample(found, "cache_spinlock_contention_ratio") == {("default data cache",): 0.51}
    assert sample(found, "spinlock_contention_ratio") == {("Page & Row Lock HashTable",): 0.025}


def test_the_sample_tells_its_end_and_age_and_whether_it_cleared() -> None:
    found = exported(WHOLE)
    assert sample(found, "sample_end_timestamp_seconds") == {(): 1000.0}
    assert sample(found, "sample_age_seconds") == {(): 30.0}
    assert sample(found, "sample_interval_seconds") == {(): 60.0}
    assert sample(found, "sample_cleared_counters") == {(): 0.0}
    cleared = exported(WHOLE.replace("No Clear", "Reset Counters"))
    assert sample(cleared, "sample_cleared_counters") == {(): 1.0}


def test_a_server_of_one_engine_has_no_summary_and_is_its_own_average() -> None:
    lines = [
        line
        for line in samples.ENGINES.splitlines()
        if "Summary" not in line and "Average" not in line and "Engine 1" not in line
    ]
    found = exported(samples.report(section("Kernel Utilization", *lines)))
    assert sample(found, "server_busy_ratio")["user",] == 0.6


def test_engines_of_12_5_are_busy_or_not() -> None:
    lines = [
        "  Engine Busy Utilization:",
        "    Engine 0                       98.4 %",
        "  Summary:      Total:      98.4 %  Average:    98.4 %",
    ]
    found = exported(samples.report(section("Kernel Utilization", *lines)))
    assert sample(found, "server_busy_ratio") == {("cpu",): 0.984}
    assert sample(found, "engine_busy_ratio") == {("0", "cpu"): 0.984}


def test_rates_are_by_the_seconds_that_the_sample_really_took() -> None:
    busy = section(
        "Network I/O Management",
        table("Network Receive Activity", row("  Total Bytes Rec'd", "100000.0", "1.0", 6_600_000)),
    )
    commits = samples.TRANSACTIONS.replace("1200.0", "1090.9")
    found = exported(samples.report(commits, busy))
    assert sample(found, "sample_interval_seconds") == {(): 60.0}
    assert sample(found, "committed_transactions_per_second")[()] == pytest.approx(72000 / 66)


def test_a_wrapped_counter_makes_no_rate() -> None:
    text = samples.report(
        section("Lock Management", table("Lock Summary", row("  Total Lock Requests", "-1.0", "-1.0", -60)))
    )
    assert "ase_sysmon_lock_requests_per_second" not in exported(text)
