"""Servers that differ from the manuals, and what a scrape still guarantees."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.exporter.clocks import ShiftedClock, leaping
from tests.exporter.simulated import PASSWORD, Simulated, reading, run, scraper_of
from tests.faults.scraping import Samples, failed, samples, scrape

from ase_exporter.ase.connection import Connection, Endpoint, Row
from ase_exporter.ase.database_error import login_error
from ase_exporter.ase.timing import TIMING
from ase_exporter.assets import load_yaml
from ase_exporter.config import Scrape
from ase_exporter.scraping.module_collector import PLAN_LIFETIME
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.sysmon import runner
from ase_simulator.faults import Break, Faults
from ase_simulator.model.database_states import DATABASE_STATES


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulated]:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        server.advance(600.0)
        yield server


@pytest.fixture
def server(shared: Simulated) -> Iterator[Simulated]:
    yield shared
    shared.model.faults.become(Faults())
    shared.faults.become(Faults())


@pytest.fixture
def scraper(server: Simulated) -> Iterator[TargetScraper]:
    one = scraper_of(server.address)
    yield one
    one.close()


LIMITED: dict[str, dict[str, Any]] = load_yaml(Path(__file__).with_name("limited.yaml").read_text())


@pytest.fixture(scope="module")
def usual(shared: Simulated) -> dict[str, Samples]:
    """The samples of the server without a fault."""
    scraper = scraper_of(shared.address)
    found = samples(scrape(scraper))
    scraper.close()
    return {name: series for name, series in found.items() if series}


@pytest.mark.parametrize("case", LIMITED.values(), ids=LIMITED)
def test_a_fault_costs_what_it_must_and_nothing_else(
    case: dict[str, Any], server: Simulated, scraper: TargetScraper, usual: dict[str, Samples]
) -> None:
    faults = TypeAdapter(Faults).validate_python(case["faults"])
    missing, fewer = set(case.get("missing", ())), set(case.get("fewer", ()))
    server.model.faults.become(faults)
    for _ in range(2):
        started = time.monotonic()
        seen = scrape(scraper)
        assert (seen.summary.up, seen.error_kind, failed(seen)) == (True, "", case.get("failing", {}))
        assert time.monotonic() - started >= sum(faults.slow_tables.values())
        found = samples(seen)
        lost = {name: series.keys() - found.get(name, {}).keys() for name, series in usual.items()}
        assert {name for name in lost if not found.get(name)} == missing
        assert {name for name in lost if lost[name]} == missing | fewer
    assert scraper.cost.connects == 1
    server.model.faults.become(Faults())
    assert failed(scrape(scraper)) == {}


def test_numbers_of_another_type_give_the_same_figures(server: Simulated, scraper: TargetScraper) -> None:
    names = ("ase_threads_task_runs_total", "ase_spinlock_grabs_total", "ase_connections")
    grown = []
    for types in (
        {},
        {
            "monThread.TaskRuns": "numeric(20,0)",
            "monSpinlockActivity.Grabs": "unsigned bigint",
            "monState.Connections": "smallint",
        },
        {
            "monThread.TaskRuns": "float",
            "monSpinlockActivity.Grabs": "numeric(38,0)",
            "monState.Connections": "numeric(10,2)",
        },
    ):
        scraper.close()
        server.model.faults.column_types = types
        before = samples(scrape(scraper))
        server.advance(15.0)
        seen = scrape(scraper)
        assert failed(seen) == {}
        after = samples(seen)
        gauge = after["ase_connections"]
        grown.append([{key: after[n][key] - before[n][key] for key in after[n]} for n in names[:2]] + [gauge])
    for each in grown[1:]:
        for figures, usual in zip(each, grown[0], strict=True):
            assert figures == pytest.approx(usual, rel=0.001, abs=100)


def test_a_start_date_that_is_no_date_is_no_restart(server: Simulated) -> None:
    scraper = scraper_of(server.address, module=reading("state", "spinlocks"))
    scrape(scraper)
    before = samples(scrape(scraper))["ase_spinlock_grabs_total"]
    for types in ({"monState.StartDate": "varchar(30)"}, {}):
        scraper.close()
        server.model.faults.column_types = types
        server.advance(1.0)
        after = samples(scrape(scraper))["ase_spinlock_grabs_total"]
        # The raw grabs of all slots.
        grabs = max(map(sum, slots(server).values()))
        assert all(after[key] - before[key] < grabs / 2 for key in before)
        before = after
    scraper.close()


def test_a_connection_that_is_one_answer_behind_is_lost(
    server: Simulated, scraper: TargetScraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.model.faults.column_types["monWorkQueue.MaxLength"] = "varchar(30)"
    query = Connection.query

    def behind(connection: Connection, sql: str, deadline: float) -> list[Row]:
        return [(0,)] if re.fullmatch(r"select \d+", sql) else query(connection, sql, deadline)

    monkeypatch.setattr(Connection, "query", behind)
    seen = scrape(scraper)
    assert seen.error_kind == "lost"
    assert not scraper.connected


READABLE = frozenset(("read only", "standby", "quiesced"))
UNAVAILABLE = DATABASE_STATES.keys() - READABLE


@pytest.mark.parametrize("version", ["12.5.4", pytest.param("16.0 SP04", marks=pytest.mark.slow)])
def test_a_database_that_cannot_be_opened_costs_its_own_free_space_alone(version: str) -> None:
    module = reading("state", "database_space", "database_states")
    with run(version, "quiet-oltp", speed=0.0) as server:
        one = scraper_of(server.address, module=module)
        usual = samples(scrape(one))
        one.close()
        databases = {labels[0] for labels in usual["ase_database_size_bytes"]}
        for state, bits in DATABASE_STATES.items():
            server.model.world.database_status = {"orders": bits}
            later = scraper_of(server.address, module=module)
            seen = scrape(later)
            later.close()
            assert failed(seen) == {}
            got = samples(seen)
            assert got["ase_database_size_bytes"] == usual["ase_database_size_bytes"]
            free = {labels[0] for labels in got["ase_database_free_bytes"]}
            assert free == databases - {"model"} - ({"orders"} if state in UNAVAILABLE else set())
            states = dict(got["ase_database_state"])
            assert states == {(name, state if name == "orders" else "online"): 1.0 for name, _ in states}
            assert {name for name, _ in states} >= databases


def test_what_rollbacks_have_reserved_is_no_free_log_space(server: Simulated, scraper: TargetScraper) -> None:
    got = samples(scrape(scraper))
    with server.login("sa") as query:
        free, reserved = query(
            "select lct_admin('logsegment_freepages', db_id('orders')),"
            " lct_admin('reserved_for_rollbacks', db_id('orders'))"
        )[0]
        assert reserved > 0
        page_size = query("select @@maxpagesize")[0][0]
    assert got["ase_database_free_bytes"]["orders", "log"] == (free - reserved) * page_size


def test_a_catalogue_that_hangs_costs_neither_ase_up_nor_the_other_collectors(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The cancelled statement may come back late, and what hangs leaves the others enough time.
    monkeypatch.setattr(TIMING, "cancel_grace", 200.0)
    monkeypatch.setattr(TIMING, "collector_share", 0.05)
    shifted = ShiftedClock()
    one = scraper_of(server.address, clock=shifted)
    server.faults.hang, server.faults.only = True, "sysdatabases"
    with leaping(shifted, 181.0):
        seen = scrape(one, 3600.0, shifted)
    one.close()
    assert seen.summary.up
    assert seen.error_kind == ""
    assert set(failed(seen)) <= {"database_space", "database_states", "changes"}
    assert {"state", "spinlocks", "engines"} <= set(seen.collected)


def test_a_server_that_answers_the_first_question_alone_is_up(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TIMING, "cancel_grace", 200.0)
    shifted = ShiftedClock()
    one = scraper_of(server.address, clock=shifted)
    server.faults.hang, server.faults.only = True, "@@version"
    with leaping(shifted, 361.0):
        assert scrape(one, 600.0, shifted).summary.up
    one.close()


@pytest.mark.parametrize("version", ["16.0 SP02", pytest.param("15.7 SP138", marks=pytest.mark.slow)])
def test_a_collector_of_another_version_does_not_have_the_facts_read_again(version: str) -> None:
    shifted = ShiftedClock()
    with run(version, "quiet-oltp", speed=0.0) as server:
        one = scraper_of(server.address, clock=shifted)
        first = scrape(one, clock=shifted)
        assert set(first.unavailable.values()) == {"version"}
        statements = one.cost.statements
        shifted.ahead = 2 * Scrape().recheck_interval
        scrape(one, clock=shifted)
        one.close()
    # The facts take a dozen statements.
    assert one.cost.statements - statements <= len(first.outcomes)


@pytest.mark.parametrize("reason", ["deadline", "query_failed", "lost"])
def test_a_collector_that_fails_again_and_again_is_tried_less_and_less_often(
    server: Simulated, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shifted = ShiftedClock()
    monkeypatch.setattr(TIMING, "cancel_grace", 20.0)
    if reason == "deadline":
        monkeypatch.setattr(TIMING, "collector_share", 0.05)
    module = reading("state", "devices", "engines", "data_caches", "threads", "databases")
    one = scraper_of(server.address, module=module, clock=shifted)

    scrape(one, clock=shifted)
    server.faults.only = "monDeviceIO"
    server.faults.hang = reason == "deadline"
    server.faults.broken = Break("reset", after_rows=1) if reason == "lost" else None
    if reason == "query_failed":
        server.model.faults.slow_tables, server.model.faults.elapsed_limit = {"monDeviceIO": 0.02}, 0.01
    if reason == "lost":
        # Nothing says which select of a batch has cost the connection: each is read alone then, up to that one.
        for _ in range(2):
            scrape(one, clock=shifted)
    tried = []
    for turn in range(36):
        shifted.ahead += 15.0
        with leaping(shifted, 4.0):
            seen = scrape(one, clock=shifted)
        assert failed(seen) == {"devices": reason}
        assert {"state", "engines"} <= set(seen.collected)
        if seen.outcomes["devices"].seconds:
            tried.append(turn)
            # Read last, so that the others have their time; of what breaks the connection nothing is known.
            assert "devices" in [*seen.outcomes][-2:]
    # Twice, as the first time may have been an accident; then after 1, 2, 4 and always 5 minutes.
    gaps = [after - before for before, after in pairwise(tried)]
    if reason != "lost":
        assert gaps.pop(0) == 1
    assert [pytest.approx(gap, abs=1.5) for gap in gaps] == [4, 8, 16, 20][: len(gaps)]
    assert len(gaps) >= 3
    server.faults.become(Faults())
    server.model.faults.become(Faults())
    shifted.ahead += 315.0
    assert failed(scrape(one, clock=shifted)) == {}
    one.close()


@pytest.mark.slow
def test_a_hundred_thousand_slots_of_spinlocks_cost_a_hundred_rows() -> None:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        server.model.set_option("lock hashtable size", 524_288, "sa")
        server.model.set_option("lock spinlock ratio", 5, "sa")
        server.model.restart()
        server.advance(10_000_000.0)
        one = scraper_of(server.address)
        scrape(one)
        before = slots(server)
        rows = one.cost.rows
        server.advance(15.0)
        seen = scrape(one)
        assert failed(seen) == {}
        one.close()
        after = slots(server)
    assert sum(map(len, after.values())) > 100_000
    assert one.cost.rows - rows < 2_000
    grown = samples(seen)["ase_spinlock_grabs_total"]
    assert grown.keys() == {key for key in grown if after[key[1]]}
    for key, growth in grown.items():
        assert growth == sum(after[key[1]]) - sum(before[key[1]])


def slots(server: Simulated) -> dict[str, list[int]]:
    """The raw grabs of all slots, by spinlock."""
    found: dict[str, list[int]] = {}
    for row in server.model.table("monSpinlockActivity"):
        if isinstance(grabs := row["Grabs"], int) and grabs > 0:
            found.setdefault(str(row["SpinlockName"]), []).append(grabs)
    return found


def test_a_server_that_requires_encrypted_passwords_is_named_with_its_remedy(server: Simulated) -> None:
    try:
        for level in (1, 2, 3):
            server.model.set_option("net password encryption reqd", level, "sa")
            for encrypted in (False, True):
                one = scraper_of(server.address, module=reading("state"), encrypt_password=encrypted)
                seen = scrape(one)
                one.close()
                assert seen.summary.up == encrypted
                assert seen.error_kind == ("" if encrypted else "encryption_required")
                assert seen.summary.error.endswith("Set encrypt_password: true for this target.") != encrypted
    finally:
        server.model.set_option("net password encryption reqd", 0, "sa")


@pytest.mark.parametrize("default_view", ["instance", "cluster"])
def test_all_instances_of_a_cluster_are_read_whatever_its_default_view(default_view: str) -> None:
    with run("15.7 SP138 CE", "quiet-oltp", speed=0.0) as server:
        server.model.faults.instances = 3
        server.model.faults.system_view = default_view
        one = scraper_of(server.address, module=reading("state"))
        seen = samples(scrape(one))
        one.close()
    assert {labels[-1] for labels in seen["ase_connections"]} == {"1", "2", "3"}


def test_a_server_in_process_mode_lacks_threads_alone(server: Simulated, scraper: TargetScraper) -> None:
    usual = samples(scrape(scraper))
    scraper.close()
    server.model.set_option("kernel mode", "process", "sa")
    try:
        seen = scrape(scraper)
    finally:
        server.model.set_option("kernel mode", "threaded", "sa")
    assert failed(seen) == {}
    found = samples(seen)
    lacking = {name for name, series in usual.items() if series and not found.get(name)}
    assert lacking
    prefixes = ("ase_thread", "ase_task", "ase_work_queue", "ase_io_controller")
    assert all(name.startswith(prefixes) for name in lacking)


# Zones with and without daylight saving time, with offsets of half an hour, in both hemispheres, and a change of 30
# minutes. Each date is shortly before a change of the clocks, in UTC.
CHANGES = {
    "America/New_York": ("2026-03-08T06:50", "2026-11-01T05:50"),
    "America/St_Johns": ("2026-03-08T05:20", "2026-11-01T04:20"),
    "Australia/Lord_Howe": ("2026-10-03T15:20", "2026-04-04T14:50"),
    "Asia/Kolkata": ("2026-03-29T00:50", "2026-10-25T00:50"),
}


@pytest.mark.parametrize(
    "zone", [pytest.param(each, marks=[] if "Lord" in each else pytest.mark.slow) for each in CHANGES]
)
def test_start_and_clear_keep_their_times_when_the_clocks_change(zone: str, tmp_path: Path) -> None:
    scenario = tmp_path / "zone.yaml"
    scenario.write_text(f"name: zone\ntime_zone: {zone}\nup_hours: 3\n")
    for change in CHANGES[zone]:
        start = datetime.fromisoformat(change)
        with run("16.0 SP04", str(scenario), speed=0.0, start=start) as server:
            shifted = ShiftedClock()
            one = scraper_of(server.address, module=reading("state"), clock=shifted)
            started = []
            for _ in range(4):
                seen = scrape(one, clock=shifted)
                started.append(samples(seen)["ase_start_timestamp_seconds"][()])
                server.advance(PLAN_LIFETIME + 1)
                shifted.ahead += PLAN_LIFETIME + 1
            scrape(one, clock=shifted)
            server.model.clear_monitors()
            cleared = server.model.now().replace(tzinfo=UTC).timestamp()
            seen = scrape(one, clock=shifted)
            one.close()
        expected = start.replace(tzinfo=UTC).timestamp() - 3 * 3600
        assert started == [pytest.approx(expected, abs=0.01)] * 4
        assert samples(seen)["ase_counters_cleared_timestamp_seconds"][()] == pytest.approx(cleared, abs=0.01)


def test_a_read_only_option_is_no_reason_to_restart(server: Simulated, scraper: TargetScraper) -> None:
    seen = samples(scrape(scraper))
    run_values, configured = seen["ase_config_value"], seen["ase_config_configured_value"]
    read_only = {"total data cache size", "total logical memory", "total physical memory"}
    assert {labels[0] for labels in run_values.keys() - configured.keys()} == read_only
    assert {labels for labels, value in configured.items() if value != run_values[labels]} == set()


@pytest.mark.parametrize("mechanism", ["ldap", "pam"])
def test_after_an_outage_of_the_directory_the_login_is_tried_every_hour(
    server: Simulated, mechanism: str
) -> None:
    server.model.faults.authentication = mechanism
    server.model.set_option("maximum failed logins", 3, "sa")
    shifted = ShiftedClock()
    one = scraper_of(server.address, clock=shifted)

    def tried(seconds: float) -> int:
        """How often the server was asked in that time, with a scrape every minute."""
        before = one.cost.connects
        for _ in range(int(seconds / 60)):
            shifted.ahead += 60.0
            assert scrape(one, clock=shifted).error_kind in ("login_failed", "login_suspended")
        return one.cost.connects - before

    assert scrape(one, clock=shifted).summary.up
    server.model.faults.directory_down = True
    server.drop()
    one.close()
    assert tried(600) == 2
    assert tried(5 * 3600) == 5
    server.model.faults.directory_down = False
    shifted.ahead += 3600
    assert scrape(one, clock=shifted).summary.up
    one.close()


@pytest.mark.parametrize("version", ["12.5.4", "16.0 SP04"])
def test_another_exporter_that_runs_sp_sysmon_is_seen_where_program_names_are_short(version: str) -> None:
    with run(version, speed=0.0) as server, server.login("sa") as query:
        assert query(runner.OTHERS)[0][0] == 0
        limit = time.monotonic() + 60
        other = Connection.open(
            Endpoint(*server.address), "sa", PASSWORD, deadline=limit, program=runner.PROGRAM
        )
        assert query(runner.OTHERS)[0][0] == 1
        other.close()


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (4002, "login_failed"),
        (4067, "login_failed"),
        (4066, "login_locked"),
        (4095, "login_failed"),
        (4099, "login_failed"),
        (20014, "login_failed"),
    ],
)
def test_every_message_that_refuses_a_login_counts_as_an_attempt(number: int, kind: str) -> None:
    # Texts of sysmessages: 4066 account is locked, 4067 incorrect password, 4095 LDAP error, 4099 expired in LDAP.
    text = f"[42000] [FreeTDS][SQL Server]Login failed. ({number}) (SQLDriverConnect)"
    assert login_error(text, "ase:5000", timed_out=False).kind == kind
