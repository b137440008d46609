"""Advice: the arithmetic, what is legal, what is left alone, and how it reads."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.advise import report
from ase_exporter.advise.advice import Advice, Finding, advise, predict
from ase_exporter.advise.evidence import Cache, DatabaseObject, Evidence, Spinlock
from ase_exporter.advise.remedies import remedies
from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.versions import parse_version

ROOT = Path(__file__).parents[3]
GB = 2.0**30
BUSY = 1e7


def spinlock(name: str, contention: float, spinlock_class: str = "", grabs: float = BUSY) -> Spinlock:
    return Spinlock(name, spinlock_class, grabs, grabs * contention * 100, grabs * contention)


def evidence(*spinlocks: Spinlock, version: str = "15.7 SP110", **other: object) -> Evidence:
    options = {
        "lock address spinlock ratio": 100,
        "open object spinlock ratio": 100,
        "number of open objects": 2000,
        "lock spinlock ratio": 85,
        "lock hashtable size": 8192,
        "procedure cache size": 100_000,
        "max memory": 10_000_000,
        "total logical memory": 9_000_000,
    }
    facts = Evidence(parse_version(version), 30.0, 64, 1000.0, options, spinlocks)
    return replace(facts, **other)  # type: ignore[arg-type]


def only(advice: Advice) -> Finding:
    (finding,) = advice.findings
    return finding


def test_address_locks_get_two_hundred_and_seven_spinlocks_for_eleven() -> None:
    finding = only(advise(evidence(spinlock("addrlockspins", 0.7))))
    (step,) = finding.steps
    assert finding.present == "lock address spinlock ratio = 100: ceil(1,031 / 100) = 11 spinlocks"
    assert step.statements == ("sp_configure 'lock address spinlock ratio', 5",)
    assert "ceil(1,031 / 5) = 207 spinlocks instead of 11" in step.why
    assert step.restart
    assert step.predicted == pytest.approx(predict(0.7, 207 / 11))


def test_a_ratio_is_lowered_no_further_than_the_target_needs() -> None:
    few = only(advise(evidence(spinlock("fglockspins", 0.12)))).steps[0]
    many = only(advise(evidence(spinlock("fglockspins", 0.6)))).steps[0]
    assert few.statements == ("sp_configure 'lock spinlock ratio', 20",)
    assert many.statements == ("sp_configure 'lock spinlock ratio', 5",)


def test_descriptors_call_for_action_at_three_percent_caches_at_ten() -> None:
    assert only(advise(evidence(spinlock("Des Upd Spinlocks", 0.04)))).severity == "hot"
    assert only(advise(evidence(spinlock("addrlockspins", 0.04)))).severity == "busy"


def test_a_high_ratio_of_few_grabs_is_left_alone() -> None:
    finding = only(advise(evidence(spinlock("addrlockspins", 0.4, grabs=100))))
    assert (finding.severity, finding.steps) == ("quiet", ())


def test_the_dearest_spinlock_comes_first_not_the_one_with_the_highest_ratio() -> None:
    rare = spinlock("addrlockspins", 0.9, grabs=2000)
    dear = spinlock("fglockspins", 0.2)
    assert [f.spinlock.name for f in advise(evidence(rare, dear)).findings] == [
        "fglockspins",
        "addrlockspins",
    ]


def test_an_option_that_cannot_be_lowered_further_gives_no_step() -> None:
    tuned = evidence(spinlock("addrlockspins", 0.3), options={"lock address spinlock ratio": 5})
    assert only(advise(tuned)).steps == ()


@pytest.mark.parametrize(
    ("partitions", "engines", "pool", "wanted"),
    [
        (1, 64, 8 * GB, 32),
        (4, 128, 8 * GB, 64),
        (4, 16, 8 * GB, 8),
        (4, 128, 16 * 512 * 1024.0, 16),
    ],
)
def test_partitions_are_a_power_of_two_that_pools_and_engines_allow(
    partitions: int, engines: int, pool: float, wanted: int
) -> None:
    cache = Cache("default data cache", 16 * GB, partitions, False, pool)
    hot = spinlock("default data cache", 0.8, "data_cache")
    (step,) = only(advise(evidence(hot, caches=(cache,), engines=engines))).steps
    assert step.statements == (f"sp_cacheconfig 'default data cache', 'cache_partition={wanted}'",)
    assert step.restart


def test_a_cache_with_partitions_enough_loses_its_system_tables_then_its_key_tables() -> None:
    cache = Cache("default data cache", 64 * GB, 32, False, 8 * GB)
    hot = spinlock("default data cache", 0.3, "data_cache")
    tables = [
        DatabaseObject("claims", "sysobjects", "default data cache", 4000, 10 * 2**20),
        DatabaseObject("claims", "claim", "default data cache", 9000, 4 * GB),
        DatabaseObject("claims", "rare", "default data cache", 100, 4 * GB),
        DatabaseObject("claims", "syslogs", "default data cache", 9000, 1 * GB),
    ]
    before = evidence(hot, caches=(cache,), objects=tuple(tables))
    (first,) = only(advise(before)).steps
    assert first.statements == (
        "sp_cacheconfig 'system tables cache', '64M', 'mixed', 'relaxed', 'cache_partition=32'",
        "sp_bindcache 'system tables cache', 'claims', 'sysobjects'",
    )
    moved = [replace(tables[0], cache="system tables cache"), *tables[1:]]
    own = Cache("system tables cache", 64 * 2.0**20, 32, True, 64 * 2.0**20)
    (second,) = only(advise(replace(before, caches=(cache, own), objects=tuple(moved)))).steps
    assert second.statements[1:] == ("sp_bindcache 'key tables cache', 'claims', 'claim'",)
    assert "Free beneath max memory: 1,953 MB" in second.why


def test_a_spinlock_that_nobody_knows_a_remedy_for_is_shown_without_one() -> None:
    finding = only(advise(evidence(spinlock("Dbtable->dbt_xdesqueue_spin", 0.6, "database"))))
    assert (finding.severity, finding.steps) == ("severe", ())
    assert "no remedy by configuration is known" in report.markdown(advise(evidence(finding.spinlock)))


def test_memscale_is_offered_for_hot_caches_of_versions_that_have_it() -> None:
    cache = Cache("default data cache", 64 * GB, 4, False, 8 * GB)
    hot = spinlock("default data cache", 0.8, "data_cache")
    new = advise(evidence(hot, version="16.0 SP03", caches=(cache,)))
    assert [feature.group for feature in new.features] == ["A", "B", "B", "C", "D", "E", "F"]
    assert advise(evidence(hot, caches=(cache,))).features == ()
    assert advise(evidence(spinlock("addrlockspins", 0.8), version="16.0 SP03")).features == ()


@given(st.floats(0.0, 0.999), st.floats(1.0, 64.0))
def test_more_spinlocks_never_predict_more_contention(contention: float, times: float) -> None:
    assert 0.0 <= predict(contention, times) <= contention + 1e-12


def test_small_contention_halves_when_the_spinlocks_double() -> None:
    assert predict(0.02, 2) == pytest.approx(0.01, rel=0.02)


def test_all_formats_carry_the_statement_and_the_warning_not_to_add_engines() -> None:
    advice = advise(evidence(spinlock("addrlockspins", 0.7)))
    text = report.markdown(advice)
    assert "sp_configure 'lock address spinlock ratio', 5" in text
    assert "Do not add engines" in text
    (finding,) = json.loads(report.as_json(advice))["findings"]
    assert finding["steps"][0]["statements"] == ["sp_configure 'lock address spinlock ratio', 5"]


def test_an_idle_server_needs_nothing() -> None:
    assert "Nothing to do" in report.markdown(advise(evidence(spinlock("addrlockspins", 0.0, grabs=10))))


def test_advice_and_alerts_cost_a_spin_alike() -> None:
    parameters = yaml.safe_load((ROOT / "alerts/parameters.yaml").read_text(encoding="utf-8"))["spinlock"]
    known = remedies()
    assert known.seconds_per_spin == float(parameters["seconds_per_spin"])
    assert known.min_grabs_per_second == parameters["min_grabs_per_second"]
    assert known.min_spins_per_second == parameters["min_spins_per_second"]


def test_every_option_that_advice_reads_is_an_option_of_the_catalogue_or_the_facts() -> None:
    catalogue, problems = load_catalogue()
    assert problems == []
    read = catalogue.collectors["configuration"].sql or ""
    for remedy in remedies().remedies:
        for option in (remedy.ratio and remedy.ratio.option, remedy.grow and remedy.grow.option):
            assert option is None or f"'{option}'" in read, option
