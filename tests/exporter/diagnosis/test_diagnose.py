"""What the diagnosis says of states whose truth is known."""

import re
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.exporter.diagnosis.states import State, generated, healthy, unlike

from ase_exporter.assets import load_yaml
from ase_exporter.diagnosis import catalogue as catalogue_module
from ase_exporter.diagnosis import measures
from ase_exporter.diagnosis.catalogue import OF_ACCOUNT, PART_GROWN, REACHED, catalogue, threshold
from ase_exporter.diagnosis.diagnose import (
    NO_BASELINE,
    NOT_COMPARED,
    Baseline,
    baseline_of,
    diagnose,
    unreachable,
)
from ase_exporter.diagnosis.measures import Evaluation
from ase_exporter.views.figures import shown


@pytest.mark.parametrize(
    ("metric", "labels", "value", "words"),
    [
        ("ase_error_log_messages_total", {"error": "823", "severity": "24"}, 0.1, "ERRORS: message 823: "),
        ("ase_error_log_messages_total", {"error": "3414", "severity": "10"}, 0.1, "ERRORS: message 3414: "),
        ("ase_error_log_messages_total", {"error": "1105", "severity": "17"}, 0.1, "FULL: "),
        ("ase_error_log_messages_total", {"error": "1105", "severity": "17"}, 0.01, "ERRORS: "),
        ("ase_error_log_messages_total", {"error": "4002", "severity": "14"}, 0.5, "LOGINS: logins a minute that "),
        ("ase_error_log_messages_total", {"error": "4002", "severity": "14"}, 0.1, "IDLE: "),
        ("ase_cluster_link_state", {"local": "a", "remote": "b", "state": "Down"}, 1.0, "INTERCONNECT: link a b: "),
        ("ase_cluster_link_state", {"local": "a", "remote": "b", "state": "Up"}, 1.0, "IDLE: "),
        ("ase_database_truncation_point_seconds", {"database": "orders"}, 3600.0, "REPLICATION: database orders: "),
        ("ase_database_truncation_point_seconds", {"database": "orders"}, 60.0, "IDLE: "),
    ],
)  # fmt: skip
def test_an_idle_server_is_not_well_if_an_alert_would_page(
    metric: str, labels: dict[str, str], value: float, words: str
) -> None:
    state = healthy(0.01)
    state.set(metric, value, **labels)
    assert diagnose(state).sentence.startswith(words)


def test_the_account_holds_what_sessions_do_and_not_what_clients_do() -> None:
    account = diagnose(healthy()).account
    assert account.sessions == pytest.approx(1.6 + 0.3 + 0.1)
    assert account.parts["work"] == pytest.approx(1.6 - 1e-4)
    assert account.per_transaction("log") == pytest.approx(0.003)


def test_a_share_of_all_session_time_is_that_of_the_account() -> None:
    for found in map(diagnose, map(generated, range(300))):
        for each in found.findings:
            part = catalogue().findings[each.name].part
            for share in re.findall(r"(\S+%) of all session time", each.text):
                assert share == shown(found.account.share(part or ""), "ratio"), each.text
            clauses = each.text.partition("; not judged")[0].split("; ")
            assert len({"an unknown share" in clause for clause in clauses}) == 1, each.text


def test_what_is_contended_is_what_waits_not_what_spins_most() -> None:
    state = healthy()
    for name, grabs, waits, spins in (("log cache", 1e6, 5e4, 4e6), ("hot cache", 1e4, 6e3, 2e6)):
        for what, rate in (("grabs", grabs), ("waits", waits), ("spins", spins)):
            state.set(f"ase_spinlock_{what}_total", rate, spinlock=name, **{"class": "data_cache"})
    assert diagnose(state).sentence.startswith("CONTENDED: spinlock hot cache: 60.0% of its grabs wait; ")


def test_a_finding_that_spinning_would_explain_comes_last_while_spinning_is_not_known() -> None:
    usual = Baseline({"cpu_per_transaction": 0.002, "reads_per_transaction": 60.0, "busy": 1.0}, {}, {})
    state = healthy(1.0)
    assert diagnose(state, usual).state == "costlier"
    state.switched_off = {"spinlocks"}
    found = diagnose(state, usual)
    assert "spinning" in {each.name for each in found.unknown if each.vital}
    assert [each.name for each in found.findings] == ["saturated", "costlier"]
    assert "not judged: spins (collector spinlocks is off)" in found.findings[-1].text
    assert found.findings[-1].confidence == "low"


@pytest.mark.parametrize(
    ("busy", "received", "states"),
    [(0.25, 0.73, "works"), (0.8, 0.73, "starved"), (0.25, 0.5, "starved"), (0.05, 0.5, "works")],
)
def test_cpu_in_whole_seconds_does_not_look_like_a_machine_that_is_overcommitted(
    busy: float, received: float, states: str
) -> None:
    state = healthy(busy)
    for thread in "0123":
        state.set("ase_thread_cpu_seconds_total", received * busy, thread=thread, mode="user")
    assert diagnose(state).state == states


@pytest.mark.parametrize("engines", [1, 2, 3])
@pytest.mark.parametrize(("seconds", "surely"), [(5.0, False), (60.0, True)])
def test_a_small_machine_that_is_overcommitted_is_found_as_soon_as_whole_seconds_prove_it(
    engines: int, seconds: float, *, surely: bool
) -> None:
    state = healthy(0.38)
    for metric, received in {
        "ase_engine_cpu_seconds_total": 1.0,
        "ase_thread_cpu_seconds_total": 0.55,
    }.items():
        state.series = {key: value for key, value in state.series.items() if key[0] != metric}
        for number in map(str, range(engines)):
            labels = {"engine" if metric.startswith("ase_engine") else "thread": number}
            state.set(metric, 0.38 * received, mode="user", **labels)
            state.set(metric, 0.62 * (received == 1.0), mode="idle", **labels)
    with patch.object(State, "window", return_value=seconds):
        assert (diagnose(state).state == "starved") == surely


@pytest.mark.parametrize(
    ("before", "now", "missing"), [(1, 1, 0), (4, 3, 1), (8, 7, 1), (64, 32, 1), (64, 60, 0), (4, 8, 0)]
)
def test_engines_that_are_missing_are_no_all_clear(before: int, now: int, missing: int) -> None:
    state = healthy()
    state.set("ase_engines", before, state="online")
    usual = baseline_of(diagnose(state))
    state.set("ase_engines", now, state="online")
    found = diagnose(state, usual)
    assert found.state == ("engines_lost" if missing else "works")
    assert diagnose(state).state == "works" and NOT_COMPARED in diagnose(state).sentence


def reading(seconds: float, devices: Mapping[str, tuple[float, float]]) -> State:
    """A server whose sessions wait so long for disks. devices: I/Os a second, and how long one takes."""
    state, event = healthy(), {"event_id": "29", "event": "read", "class": "read"}
    state.set("ase_wait_seconds_total", seconds, **event)
    state.set("ase_waits_total", 100.0 * seconds, **event)
    for device, (ios, each) in devices.items():
        state.set("ase_device_ios_total", ios, device=device, operation="read")
        state.set("ase_device_io_seconds_total", ios * each, device=device)
    return state


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.36, 0.5, 0.9, 2.0, 8.0])
@pytest.mark.parametrize("running", ["ase_database_backup_in_progress", "ase_checkpoints_running"])
def test_what_writes_by_itself_is_to_blame_for_no_more_than_it_adds(running: str, seconds: float) -> None:
    before = baseline_of(diagnose(reading(0.4, {})))
    state = reading(seconds, {})
    state.set(running, 1.0, **({"database": "orders"} if "backup" in running else {}))
    found = diagnose(state, before)
    share = found.account.share("disk") or 0.0
    adds = share >= 0.4 or (share >= 0.15 and seconds > 0.4 / 0.6)
    assert (found.word in ("BACKUP", "CHECKPOINT")) == adds, found.sentence
    assert adds or found.state == "works"


@pytest.mark.parametrize(
    ("devices", "named"),
    [
        # Of quick disks, the one that is read most; else the slow one, even if it is hardly read.
        ({"log1": (200.0, 0.001), "data1": (4000.0, 0.0006)}, "data1"),
        ({"log1": (200.0, 0.0006), "data1": (4000.0, 0.001)}, "data1"),
        ({"log1": (200.0, 0.03), "data1": (9000.0, 0.001)}, "log1"),
        ({"log1": (0.2, 0.03), "data1": (9000.0, 0.001)}, "data1"),
    ],
)
@pytest.mark.parametrize("usual", [0.5, 5.0])
def test_the_disk_that_is_named_is_the_slow_one_or_the_one_that_is_read_most(
    devices: Mapping[str, tuple[float, float]], named: str, usual: float
) -> None:
    for before in (NO_BASELINE, baseline_of(diagnose(reading(usual, {})))):
        found = diagnose(reading(3.0, devices), before)
        assert found.word == "DISK" and found.findings[0].subject
        assert found.findings[0].subject.name == named


@pytest.mark.parametrize("requests", [2.0, 99.0, 5000.0])
def test_the_log_that_is_named_is_the_one_for_which_most_requests_wait(requests: float) -> None:
    state, event = healthy(), {"event_id": "54", "event": "log", "class": "write"}
    state.set("ase_wait_seconds_total", 9.0, **event)
    for database, waits in {"orders": 0.5, "tempdb": 0.2}.items():
        state.set("ase_database_log_requests_total", requests, database=database)
        state.set("ase_database_log_waits_total", waits * requests, database=database)
    found = diagnose(state)
    assert found.word == "LOG" and found.findings[0].subject and found.findings[0].subject.name == "orders"


def blocked(processes: float, busy: float = 0.4) -> State:
    """A server on which so many processes have waited for a lock for long."""
    state = healthy(busy)
    state.set("ase_processes_blocked", processes)
    state.set("ase_lock_waits_over_threshold", processes)
    return state


def test_a_full_log_comes_before_everything_but_a_server_that_is_down() -> None:
    state = blocked(300.0, busy=0.0)
    state.set("ase_database_log_full", 1.0, database="orders")
    state.set("ase_database_suspended_processes", 118.0, database="orders")
    found = diagnose(state)
    assert [each.name for each in found.findings] == ["suspended", "blocked"]
    assert found.findings[0].subject and found.findings[0].subject.name == "orders"
    assert "processes: 118, " in found.sentence
    state.set("ase_database_suspended_processes", 1e6, database="orders")
    assert diagnose(state).rank < unreachable(State(), "connection refused").rank


@pytest.mark.parametrize(
    ("metric", "finding"),
    [
        ("ase_database_suspended_processes", "suspended"),
        ("ase_connections", "connections_gone"),
        ("ase_locks", "locks_gone"),
    ],
)
def test_what_stops_work_counts_at_its_first_reading(metric: str, finding: str) -> None:
    state = healthy(0.8)
    for option in ("number of user connections", "number of locks"):
        state.set("ase_config_value", 90.0, name=option)
    state.set(metric, 90.0)
    state.momentary = {metric}
    assert diagnose(state).state == finding


@pytest.mark.parametrize(
    ("metric", "finding"),
    [
        ("ase_processes_blocked", "blocked"),
        ("ase_lock_waits_over_threshold", "blocked"),
        ("ase_run_queue_length", "saturated"),
    ],
)
@pytest.mark.parametrize("lasts", [False, True])
def test_what_one_sample_counts_is_no_finding_unless_it_lasts(
    metric: str, finding: str, *, lasts: bool
) -> None:
    state = healthy(0.8)
    before = diagnose(state)
    # Whoever waits for a lock for long is blocked, too.
    state.set("ase_processes_blocked", 90.0)
    state.set(metric, 90.0)
    state.momentary = set() if lasts else {metric}
    found = diagnose(state)
    if not lasts or metric == "ase_processes_blocked":
        assert found.state == "works" and found.account.sessions <= before.account.sessions
    else:
        assert finding in {each.name for each in found.findings}


def test_what_explains_most_comes_first_and_what_is_usual_counts_less() -> None:
    state = blocked(30.0)
    state.set("ase_wait_seconds_total", 60.0, event_id="54", event="log", **{"class": "write"})
    assert [each.name for each in diagnose(state).findings] == ["log_waits", "blocked"]
    usual = Baseline({}, {"log": 0.55}, {})
    assert [each.name for each in diagnose(state, usual).findings] == ["blocked", "log_waits"]


def test_what_is_large_beside_a_finding_and_is_not_explained_by_it_is_named() -> None:
    state = blocked(6.0)
    state.set("ase_wait_seconds_total", 2.0, event_id="41", event="latch", **{"class": "latch"})
    state.set("ase_waits_total", 400.0, event_id="41", event="latch", **{"class": "latch"})
    assert diagnose(state).sentence.endswith(
        "; also latches, buffers 20.0% of session time (20 ms a transaction)"
    )
    state.set("ase_wait_seconds_total", 0.5, event_id="41", event="latch", **{"class": "latch"})
    assert "also" not in diagnose(state).sentence


@pytest.mark.parametrize(("spins", "told"), [(0.55, False), (0.2, True)])
def test_the_run_queue_of_engines_that_spin_is_explained_by_that(spins: float, told: bool) -> None:
    state = healthy(0.6)
    state.set("ase_run_queue_length", 100.0)
    labels = {"spinlock": "cache", "class": "data_cache"}
    state.set("ase_spinlock_spins_total", 4 * spins / threshold("spinlock.seconds_per_spin"), **labels)
    found = diagnose(state)
    assert found.state == "spinning" and ("also run queue 9" in found.sentence) == told


@pytest.mark.parametrize(
    ("ago", "told"), [(240.0, "also caches that may be cold (started 4 min ago)"), (7200.0, "")]
)
def test_reads_from_disk_after_a_start_may_come_from_cold_caches(ago: float, told: str) -> None:
    state = healthy()
    state.set("ase_start_timestamp_seconds", state.at - ago)
    assert "cold" not in diagnose(state).sentence
    state.set("ase_wait_seconds_total", 4.0, event_id="29", event="read", **{"class": "read"})
    state.set("ase_waits_total", 400.0, event_id="29", event="read", **{"class": "read"})
    sentence = diagnose(state).sentence
    assert sentence.startswith("DISK: ") and (told in sentence if told else "cold" not in sentence)
    # Nor do other findings of a young server.
    state.set("ase_wait_seconds_total", 60.0, event_id="54", event="log", **{"class": "write"})
    state.set("ase_wait_seconds_total", 50.0, event_id="29", event="read", **{"class": "read"})
    found = diagnose(state)
    assert [each.word for each in found.findings][:2] == ["LOG", "DISK"] and "cold" not in found.sentence


def test_a_transaction_that_takes_more_than_usual_is_found_only_with_a_baseline() -> None:
    before = {"cpu_per_transaction": 0.008, "reads_per_transaction": 60.0, "busy": 0.8, "reads": 6000.0}
    usual = Baseline(before, {}, {})
    state = healthy()
    assert diagnose(state, usual).state == "costlier"
    state.set("ase_logical_reads_total", 60_000.0)
    # Reads explain the CPU.
    assert [each.name for each in diagnose(state, usual).findings] == ["heavier"]
    found = diagnose(state)
    assert found.state == "works"
    assert ("heavier", "no history") in {(each.name, each.reason) for each in found.unknown}


@pytest.mark.parametrize(
    ("seconds", "transactions", "found", "told"),
    [
        (1.0, 100.0, False, "(as usual)"),
        (3.0, 100.0, False, "(66.7% of it above the usual)"),
        (5.0, 100.0, True, "80.0% of it is above the usual"),
        # Fewer transactions beside the same housekeeping take no longer.
        (1.0, 10.0, False, "90.0% above the usual"),
        (3.0, 10.0, True, "also LOG"),
    ],
)
def test_a_part_has_grown_if_it_takes_more_time_and_more_in_a_transaction(
    seconds: float, transactions: float, *, found: bool, told: str
) -> None:
    def state(seconds: float, transactions: float) -> State:
        state, labels = healthy(), {"event_id": "54", "event": "log", "class": "write"}
        state.set("ase_transactions_total", transactions)
        state.set("ase_wait_seconds_total", seconds, **labels)
        state.set("ase_waits_total", 1000 * seconds, **labels)
        return state

    judged = diagnose(state(seconds, transactions), baseline_of(diagnose(state(1.0, 100.0))))
    assert ("log_grown" in {each.name for each in judged.findings}) == found
    assert told in judged.sentence


def test_a_limit_that_is_just_reached_counts() -> None:
    """Of every measure whose denominator, or other counter, has to be large enough."""
    seen = 0
    for name, measure in catalogue().measures.items():
        for other in filter(None, (measure.per, measure.beside)):
            if other.at_least is None or other.metric == measure.metric:
                continue
            least = threshold(other.at_least)
            for rate, counts in ((least, True), (least * 0.999, False)):
                state = State()
                for each in measure.needed:
                    labels = dict.fromkeys((*measure.by, *(each.where or {})), "log")
                    state.set(each.metric, rate if each is other else 1e6, **labels)
                with patch.object(measures, "_fits", return_value=True):
                    assert bool(Evaluation(state).rows_of(measure)) == counts, name
                seen += 1
    assert seen > 20


@pytest.mark.parametrize(("seconds", "shown"), [(10.0, "40.0% ± 4.1%"), (60.0, "40.0%")])
def test_cpu_in_whole_seconds_shows_how_far_it_is_known(seconds: float, shown: str) -> None:
    with patch.object(State, "window", return_value=seconds):
        assert diagnose(healthy()).text.startswith(f"engines {shown} busy, ")


@pytest.mark.parametrize(
    ("busy", "seconds", "state"),
    [(0.94, 10.0, "works"), (0.96, 10.0, "not_known"), (0.96, 300.0, "saturated")],
)
def test_engines_are_saturated_only_if_their_whole_seconds_prove_it(
    busy: float, seconds: float, state: str
) -> None:
    with patch.object(State, "window", return_value=seconds):
        assert diagnose(healthy(busy)).state == state


@pytest.mark.parametrize("queue", [0.1, 5.0, 500.0])
@pytest.mark.parametrize("spins", [0.0, 0.1, 0.14, 0.16, 0.2, 0.35, 0.5, 0.9])
def test_engines_that_spin_come_before_that_there_are_too_few(spins: float, queue: float) -> None:
    """At 15 % that spin, a quarter more engines give what the spinning takes; at a third, they make it worse."""
    state = healthy(1.0)
    state.set("ase_run_queue_length", queue)
    labels = {"spinlock": "cache", "class": "data_cache"}
    state.set("ase_spinlock_spins_total", 4 * spins / threshold("spinlock.seconds_per_spin"), **labels)
    found = [each.name for each in diagnose(state).findings]
    assert found[:2] == (
        ["spinning", "saturated"] if spins >= threshold("cpu.spinning_warning") else ["saturated"]
    )


@pytest.mark.parametrize("still", ["_total", "engine_cpu_seconds_total", "wait_seconds_total", "grabs_total"])
def test_a_server_whose_counters_stand_still_is_not_idle(still: str) -> None:
    series = {key: 0.0 if key[0].endswith(still) else value for key, value in healthy().series.items()}
    found = diagnose(State(series))
    assert (found.state, found.level) == ("not_known", "warn") and "stand still" in found.text


@pytest.mark.parametrize(
    "metric", ["ase_engine_cpu_seconds_total", "ase_wait_seconds_total", "ase_spinlock_spins_total"]
)
def test_a_table_that_was_read_and_has_no_row_is_no_all_clear(metric: str) -> None:
    series = {key: value for key, value in healthy().series.items() if key[0] != metric}
    found = diagnose(State(series))
    assert found.state == "not_known" and "no data" in found.text


# Findings that depend on what is usual.
COMPARED = {
    name
    for name, each in catalogue().findings.items()
    if any(PART_GROWN in limits for limits in each.when)
    or any(catalogue().measures[measure].compared for measure in catalogue().inputs_of(each))
}


def test_an_all_clear_says_what_it_was_not_compared_with() -> None:
    said = []
    for state in map(unlike, range(60)):
        bare = diagnose(state)
        if bare.state in ("works", "idle"):
            missing = COMPARED & {each.name for each in bare.unknown}
            said.append((NOT_COMPARED in bare.sentence, bool(missing)))
            compared = diagnose(state, baseline_of(bare))
            assert state.switched_off or NOT_COMPARED not in compared.sentence
    assert len(said) > 5 and all(says == misses for says, misses in said)
    assert (True, True) in said


def test_every_name_in_the_catalogue_exists() -> None:
    known = catalogue()
    for name, finding in known.findings.items():
        used = {each for limits in finding.when for each in limits} - OF_ACCOUNT
        used |= {each for each in (finding.times, finding.about) if each} - {"blocker", REACHED}
        assert used <= known.measures.keys(), name
        metrics = known.metrics_of(finding)
        assert all(name in known.that_read({metric}) for metric in metrics) and name not in known.that_read(
            set()
        )
        by_waits = any(OF_ACCOUNT & limits.keys() for limits in finding.when)
        assert "ase_wait_seconds_total" in metrics or not by_waits, name
        # No measure that may be 1 has a plural behind it.
        minutes = {each for each in re.findall(r"\{(\w+)\} \w+s\b", finding.says) if each in known.measures}
        assert all(known.measures[each].unit != "per_minute" for each in minutes), name
        finding.says.format(**dict.fromkeys([*known.measures, *OF_ACCOUNT, "explained", REACHED], ""))
        for limits in finding.when:
            for bounds in limits.values():
                for limit in (bounds.at_least, bounds.at_most):
                    assert limit is None or threshold(limit) >= 0


def test_a_step_with_a_comma_is_one_step() -> None:
    """In a list on one line, a comma outside of quotes would begin another step."""
    text = Path(catalogue_module.__file__).with_name("findings.yaml").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.lstrip().startswith("next: [")]
    assert lines
    assert [line for line in lines if len(load_yaml(line)["next"]) != 1] == []
