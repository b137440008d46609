"""Snapshots of a server: simulated, over the real driver, and scripted."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.exporter.simulated import run
from tests.paths import DOCS

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.changes.change import KINDS, Change, from_differences
from ase_exporter.changes.detect import SOURCES, ConfigWatcher, Query, volatile
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.snapshot import ConfigSnapshot, Difference, Event, Part, compare, decode


def snapshot(query: Query, watch: ConfigWatcher | None = None) -> dict[str, Part]:
    """The parts of a snapshot."""
    return decode((watch or ConfigWatcher(60)).take_snapshot(query).encoded_parts)


def test_a_simulated_day_of_idling_is_no_change() -> None:
    with run("16.0 SP04", speed=0.0) as server, server.login("monitor") as query:
        watch = ConfigWatcher(60)
        first = last = snapshot(query, watch)
        for _ in range(8):
            server.advance(3 * 3600)
            parts_now = snapshot(query, watch)
            assert compare(last, parts_now) == []
            last = parts_now
    assert {"option", "cache", "engine", "database", "restart", "version", "thread_pool"} <= first.keys()


def scripted(answers: dict[str, object]) -> Query:
    """A server that knows some tables: rows, or an error; 208 for all others."""

    def query(sql: str) -> Sequence[Sequence[Any]]:
        for part, answer in answers.items():
            if part in sql:
                if isinstance(answer, Exception):
                    raise answer
                assert isinstance(answer, list)
                return answer
        raise DatabaseError("query_failed", "not found", 208, usable=True)

    return query


def option(name: str, value: int, run: int) -> tuple[object, ...]:
    return (name, value, None, run, None)


@pytest.mark.parametrize("name", sorted(volatile("server")))
def test_options_that_the_server_changes_itself_are_not_reported(name: str) -> None:
    def parts_now(value: int) -> dict[str, Part]:
        rows = [option(name, value, value), option("max memory", 1, 1)]
        return snapshot(scripted({"sysconfigures": rows}))

    assert compare(parts_now(1), parts_now(2)) == []
    assert list(parts_now(1)["option"].objects) == ["max memory"]


def test_states_of_a_database_are_not_its_options() -> None:
    bits = [("D", 8, "trunc log on chkpt"), ("D", 32, "don't recover"), ("D2", 16, "offline")]

    def parts_now(status: int, status2: int) -> dict[str, Part]:
        answers: dict[str, object] = {"spt_values": bits, "status2": [("trading", status, status2, 0)]}
        return snapshot(scripted(answers))

    assert compare(parts_now(0, 0), parts_now(32, 16)) == []
    assert compare(parts_now(0, 0), parts_now(8, 0)) == [
        Difference("database", "trading: trunc log on chkpt", "off", "on")
    ]


def test_versions_before_15_7_are_read_from_the_monitoring_tables() -> None:
    answers: dict[str, object] = {
        "RelaxedReplacement": [("default data cache", 0, 4)],
        "AllocatedKB from": [("default data cache", 2048, 8192), ("default data cache", 16384, 4096)],
        "monEngine": [(0, "online")],
    }
    parts = snapshot(scripted(answers))
    assert parts["cache"].objects["default data cache"].keys() == {
        "replacement",
        "partitions",
        "16K pool size",
    } | ({"2K pool size"})
    assert parts["engine"].objects.keys() == {"engine 0"}


def test_a_snapshot_that_costs_the_connection_leaves_no_state() -> None:
    healthy: dict[str, object] = {"@@version": [("ASE",)], "sysconfigures": [option("max memory", 1, 1)]}
    watch = ConfigWatcher(60)
    first = watch.take_snapshot(scripted(healthy))
    with pytest.raises(DatabaseError):
        watch.take_snapshot(scripted({**healthy, "@@version": DatabaseError("lost", "gone")}))
    assert watch.take_snapshot(scripted(healthy)).encoded_parts == first.encoded_parts


def changes(*events: Event) -> list[Change]:
    return from_differences("PROD", (), ConfigSnapshot(1000.0, b"", events=events), not_before=940.0)


def test_trace_flags_are_known_from_the_audit_trail_alone() -> None:
    (change,) = changes(
        Event(970.0, "set switch", "8399", "", "off", "on", "jane"),
        Event(971.0, "set switch", "3604", "", "off", "on", "jane"),
        Event(900.0, "set switch", "8399", "", "off", "on", "jane"),
    )
    assert (change.kind, change.name, change.new, change.who) == ("trace_flag", "8399", "on", "jane")


def test_an_event_counts_once_however_its_time_compares_with_the_last_snapshot() -> None:
    late = Event(939.5, "set switch", "8399", "", "off", "on", "jane", seen_before=False)
    again = Event(941.0, "set switch", "8399", "", "off", "on", "jane", seen_before=True)
    assert len(changes(late)) == 1
    assert changes(again) == []


def test_every_kind_that_is_detected_or_documented_can_be_asked_for() -> None:
    page = (DOCS / "changes.md").read_text(encoding="utf-8")
    table = page.partition("| kind |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    kinds = {kind for cell in rows for kind in re.findall(r"`(\w+)`", cell)}
    assert kinds == set(KINDS)
    assert {kind for kind, _, _ in SOURCES} | HostWatcher().parts().keys() <= kinds
