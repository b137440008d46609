"""Gaps are reported with their cost and the SQL that fixes them; and that SQL does fix them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated_server
from tests.paths import DEPLOY

from ase_exporter.catalogue import load_catalogue, plan, read_facts
from ase_exporter.catalogue.gaps import Gap, find_gaps
from ase_exporter.checks.view import _cost

CATALOGUE, _ = load_catalogue()
SQL = DEPLOY / "sql"


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    """A server with all that is monitored, to which each test gives back what it takes away."""
    with simulated_server("16.0 SP04", "quiet-oltp") as server:
        with server.login("sa") as query:
            run_script(query, "enable_monitoring.sql")
        yield server


def gaps_of(server: Simulated, user: str) -> dict[str, Gap]:
    with server.login(user) as query:
        return {gap.cause: gap for gap in find_gaps(CATALOGUE, read_facts(query), None, user)}


def run_script(query: Callable[[str], Any], name: str, **replaced: str) -> None:
    text = (SQL / name).read_text()
    for old, new in replaced.items():
        text = text.replace(old, new)
    for batch in text.split("\ngo\n"):
        if batch.strip():
            query(batch)


@pytest.mark.parametrize(
    ("option", "metric", "kept"),
    [
        ("enable monitoring", "ase_engine_cpu_seconds_total", "ase_thread_cpu_seconds_total"),
        ("enable spinlock monitoring", "ase_spinlock_waits_total", "ase_cache_logical_reads_total"),
    ],
)
def test_a_switch_that_is_off_is_named_with_what_it_costs(
    server: Simulated, option: str, metric: str, kept: str
) -> None:
    with server.login("sa") as query:
        query(f"exec sp_configure '{option}', 0")
    (gap,) = gaps_of(server, "monitor").values()
    assert gap.cause == f"configuration option '{option}' is off"
    assert gap.remedies == (f"exec sp_configure '{option}', 1",)
    assert metric in gap.metrics
    assert kept not in gap.metrics
    with server.login("sa") as query:
        query(gap.remedies[0])
    assert gaps_of(server, "monitor") == {}


def test_the_login_script_makes_a_login_that_reads_all_and_changes_nothing(server: Simulated) -> None:
    with server.login("sa") as query:
        run_script(query, "create_login.sql", CHANGE_ME=server.password)
    assert gaps_of(server, "ase_exporter") == {}
    with server.login("ase_exporter") as query:
        facts = read_facts(query)
        assert facts.roles == {"mon_role"}
        for collector in plan(CATALOGUE, facts):
            if collector.available:
                query(collector.statement)


def test_what_only_another_version_has_comes_without_sql(simulated: Callable[..., Simulated]) -> None:
    gap = gaps_of(simulated("12.5.4", "quiet-oltp"), "monitor")[
        "needs ASE 15.7 ESD#2 or later, this is 12.5.4"
    ]
    assert gap.remedies == ()
    assert "ase_spinlock_waits_total" in gap.metrics


def test_a_role_that_is_granted_and_not_active_is_set(server: Simulated) -> None:
    with server.login("sa") as query:
        query("exec sp_modifylogin 'monitor', 'drop default role', 'mon_role'")
    assert gaps_of(server, "monitor") == {}
    with server.login("sa") as query:
        query("exec sp_modifylogin 'monitor', 'add default role', 'mon_role'")


def test_nothing_is_switched_on_without_its_price_and_no_feature_for_its_metrics(server: Simulated) -> None:
    options = {option for each in CATALOGUE.collectors.values() for option in each.options}
    with server.login("monitor") as query:
        facts = replace(read_facts(query), options=dict.fromkeys(options, 0))
    gaps = find_gaps(CATALOGUE, facts, dict.fromkeys(CATALOGUE.collectors, True), "monitor")
    off = [gap for gap in gaps if gap.cause.startswith("configuration option")]
    assert len(off) == len(options)
    assert {gap.cause.split("'")[1] for gap in off if not gap.remedies} == {
        "enable rep agent threads",
        "statement cache size",
    }
    assert [gap for gap in gaps if gap.remedies and not gap.note] == []


def test_a_part_of_a_metric_that_a_version_lacks_blinds_no_finding() -> None:
    (_, metric, *blind) = (
        line.text for line in _cost(['ase_engine_cpu_seconds_total{mode="io"}'], ["engines"])
    )
    assert 'mode="io"' in metric and not blind


def test_check_prints_each_gap_what_it_blinds_and_one_script_that_closes_all(
    server: Simulated, run: Run
) -> None:
    with server.login("sa") as query:
        query("exec sp_configure 'enable spinlock monitoring', 0")
        query("revoke select on sysusages from public")
    result = run("check", **server.environment())
    assert result.returncode == 1, result.stderr
    assert "configuration option 'enable spinlock monitoring' is off" in result.stdout
    assert "ase_spinlock_grabs_total" in result.stdout
    assert re.search("alerts that do not see this: .*AseSpinlockContention", result.stdout)
    assert re.search("findings that do not see this: .*spinning.*contended", result.stdout)
    assert "database archive and 2 more: Msg 916" in result.stdout
    script = result.stdout.partition("As an administrator:\n")[2].partition("\n\n")[0]
    with server.login("sa") as query:
        for batch in filter(str.strip, script.split("\ngo\n")):
            query(batch)
    result = run("check", **server.environment())
    assert result.returncode == 0, result.stderr
    assert "Nothing is missing." in result.stdout and "Msg" not in result.stdout
