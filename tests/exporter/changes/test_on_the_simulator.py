"""Changes made on a simulated server, found over the real driver: each once, everywhere."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.running_exporter import RunningExporter, configuration
from tests.exporter.running_exporter import exporter as serving
from tests.exporter.simulated import Simulated, reading, run
from tests.programs import eventually

from ase_exporter.assets import load_yaml

Found = tuple[str, str, str, str]


class Dba:
    """An administrator of the simulated server."""

    def __init__(self, server: Simulated) -> None:
        self.server = server

    def run(self, sql: str) -> None:
        with self.server.login("sa") as query:
            query(sql)


@pytest.fixture(scope="module")
def dba() -> Iterator[Dba]:
    with run("16.0 SP04", "quiet-oltp") as server:
        found = Dba(server)
        # Of what is audited, a login sees what a user of the database may.
        found.run("exec sybsecurity..sp_adduser monitor")
        yield found


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory, dba: Dba) -> Iterator[RunningExporter]:
    directory = tmp_path_factory.mktemp("exporter")
    # It is scraped without a pause, which the budget would answer by looking for changes less often.
    configured = configuration(
        {"SIM": dba.server.address},
        modules={"default": {"collectors": dict(reading("state", "changes").collectors)}},
        changes={"interval": "1s"},
    )
    baseline = 'ase_exporter_collector_success{collector="changes"} 1.0'
    options = [f"--state-dir={directory / 'state'}", "--web.enable-annotations"]
    with serving(directory, configured, options) as started:
        eventually("the baseline", lambda: baseline in started.get("/probe?target=SIM"))
        yield started


def found(exporter: RunningExporter) -> list[Found]:
    """What /changes lists, the oldest first, after one more scrape."""
    exporter.get("/probe?target=SIM")
    listed = json.loads(exporter.get("/changes?format=json"))
    return [(c["kind"], c["name"], c["old"], c["new"]) for c in reversed(listed)]


def more_than(exporter: RunningExporter, number: int) -> None:
    """Wait until /changes lists more."""
    eventually("more changes", lambda: len(found(exporter)) > number, every=0.2)


STEPS = load_yaml(Path(__file__).with_name("steps.yaml").read_text(encoding="utf-8"))


@pytest.mark.timeout(400)
def test_each_change_appears_once_with_its_values_in_list_and_metric(
    dba: Dba, exporter: RunningExporter
) -> None:
    expected: list[Found] = []
    for sql, change in STEPS:
        dba.run(sql)
        more_than(exporter, len(expected))
        expected.append(tuple(change))
        assert found(exporter) == expected, sql
    dba.run("dbcc monitor('clear', 'all', 'on')")
    more_than(exporter, len(expected))
    assert [change[:2] for change in found(exporter)[len(expected) :]] == [("counters_cleared", "server")]
    # Times by the server's clock say nothing: `at` is by ours.
    assert found(exporter)[-1][2:] == ("", "")
    before = len(expected) + 1
    dba.server.model.restart()
    more_than(exporter, before + 2)
    assert sorted(change[:2] for change in found(exporter)[before:]) == [
        ("cache", "default data cache: partitions (run value)"),
        ("option", "lock spinlock ratio (run value)"),
        ("restart", "server"),
    ]
    metrics = exporter.get("/probe?target=SIM")
    for kind, name, old, new in found(exporter):
        labels = f'{{from="{old}",kind="{kind}",name="{name}",to="{new[:79]}'
        assert f"ase_change_timestamp_seconds{labels}" in metrics
    assert 'ase_changes_total{kind="thread_pool"} 2.0' in metrics
    special = {"restart": "server restarted", "counters_cleared": "monitor counters cleared"}
    for each in json.loads(exporter.get("/changes?format=json")):
        kind, name, old, new = each["kind"], each["name"], each["old"], each["new"]
        text = special.get(kind, f"{kind} {name}: {old or '(none)'} → {new or '(none)'}")
        assert each["text"].startswith(text)


def test_with_auditing_on_a_change_says_who_and_trace_flags_are_changes(
    dba: Dba, exporter: RunningExporter
) -> None:
    for switch in ("auditing", "config history auditing"):
        dba.run(f"sp_configure '{switch}', 1")
    eventually(
        "auditing", lambda: any(name == "config history auditing" for _, name, _, _ in found(exporter))
    )
    known = len(found(exporter))
    dba.run("sp_configure 'number of locks', 230000")
    dba.run("dbcc traceon(8399)")
    dba.run("dbcc traceon(3604)")
    more_than(exporter, known + 1)
    listed = json.loads(exporter.get(f"/changes?format=json&limit={len(found(exporter)) - known}"))
    assert {(c["kind"], c["name"], c["new"], c["who"]) for c in listed} == {
        ("option", "number of locks", "230000", "sa"),
        ("trace_flag", "8399", "on", "sa"),
    }
    assert all(c["not_before"] is None and c["source"] == "audit" for c in listed)
