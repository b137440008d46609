"""The list of tools, their schemas, and what each does with sources of other kinds."""

import json
import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.exporter.compare.conftest import prometheus_with, running_prometheus, typed
from tests.exporter.compare.test_prometheus import server
from tests.exporter.web.test_session_routes import SNAPSHOT, WAITS, text
from tests.exporter.web.test_session_routes import Exporter as PageExporter
from tests.exporter.web.test_session_routes import answer as session_answer
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import alerting, live
from ase_exporter.mcp_server.privacy import LEFT_OUT
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS

BAD_ARGUMENTS: list[Any] = load_yaml(Path(__file__).with_name("bad_arguments.yaml").read_text())
UNITS = re.compile(
    r"per_second|_seconds|bytes|spinning|online|samples|scrapes|coverage|contention|confidence"
)
# Numbers without a unit of their own, and why.
PLAIN = {
    *("value", "values", "difference", "low", "high"),  # in the unit of the row
    *("share", "usual_share", "sessions"),  # 0 to 1; seconds per second
    *("before", "after"),  # as sp_sysmon prints them
    *("spid", "blocked_by", "depth", "blocks", "active", "uses", "logical_reads", "reads_each"),
    "waits",  # of a session, since its login
    *("relative", "points", "left_out", "rows_without_evidence", "rows_without_data", "series_left_out"),
}


def described(name: str) -> dict[str, Any]:
    return TOOLS[name].described().model_dump(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_described(name: str) -> None:
    tool = described(name)
    assert tool["name"] == name
    assert 40 < len(tool["description"]) < 600
    assert tool["annotations"]["readOnlyHint"] is True
    assert tool["annotations"]["destructiveHint"] is False
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
    for argument, schema in tool["inputSchema"].get("properties", {}).items():
        assert "description" in json.dumps(schema), argument


def numbers(schema: dict[str, Any], name: str = "") -> Iterator[str]:
    """The names of all numbers in a schema."""
    if schema.get("type") in ("number", "integer"):
        yield name
    for inner, each in schema.get("properties", {}).items():
        yield from numbers(each, inner)
    for each in schema.get("$defs", {}).values():
        yield from numbers(each)
    items = [schema["items"]] if isinstance(schema.get("items"), dict) else []
    for each in [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), *items]:
        yield from numbers(each, name)


@pytest.mark.parametrize("name", TOOLS)
def test_every_number_has_a_unit(name: str) -> None:
    found = set(numbers(described(name)["outputSchema"]))
    assert [each for each in found - PLAIN if not UNITS.search(each)] == []


def test_arguments_are_the_ones_documented() -> None:
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    for name, tool in TOOLS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert {argument for argument in tool.arguments.model_fields if f"`{argument}`" not in row} == set()


def test_sessions_blockers_and_statements_are_those_of_the_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    def answer(url: str, path: str, parameters: dict[str, str]) -> Any:
        asked.append(parameters)
        exporter = PageExporter(True, replace(SNAPSHOT, waits=(WAITS,)))
        return json.loads(text(session_answer(exporter, **parameters)))

    monkeypatch.setattr(live, "ask_exporter", answer)
    sources = Sources("http://127.0.0.1:1", "http://127.0.0.1:2")
    found = TOOLS["sessions"].call(sources, {"server": "ONE", "doing": "cpu", "text": True}).model_dump()
    assert found["active"] == {"lock": 2, "cpu": 1}
    assert [each["text"] for each in found["sessions"]] == ["select a from t where b = ?"]
    chains = TOOLS["blockers"].call(sources, {"server": "ONE", "limit": 2}).model_dump()
    assert [each["session"]["spid"] for each in chains["chains"]] == [7, 10] and chains["left_out"] == 1
    assert all(each["session"]["text"] is None for each in chains["chains"])
    costly = TOOLS["statements"].call(sources, {"server": "ONE"}).model_dump()
    assert costly["statements"][0]["changed"] == "40 -> 900 reads each"
    assert costly["statements"][0]["changed_at"] == "2026-11-25T20:53:20Z"
    waits = TOOLS["waits"].call(sources, {"server": "ONE", "spid": 10, "limit": 1}).model_dump()
    assert (waits["window_seconds"], waits["left_out"], asked[-1]["spid"]) == (5.0, 1, "10")
    assert waits["waits"][0]["recent_seconds"] == 4.5 and waits["waits"][0]["waited_seconds"] == 90.0
    unseen = TOOLS["waits"].call(sources, {"server": "ONE", "spid": 12}).model_dump()
    assert (unseen["waits"], unseen["window_seconds"]) == ([], None)
    assert "text" in asked[0] and not any("text" in each for each in asked[1:])
    with pytest.raises(UserError, match="--exporter URL"):
        TOOLS["sessions"].call(Sources("http://127.0.0.1:1"), {"server": "ONE"})


TOO_LONG = ("query", {"promql": "x" * 4001}, "query: promql: String should have at most 4000 characters")


@pytest.mark.parametrize(("name", "arguments", "says"), [*BAD_ARGUMENTS, TOO_LONG])
def test_bad_arguments_are_one_line(name: str, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as raised:
        TOOLS[name].call(Sources("http://127.0.0.1:1"), arguments)
    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


# How Prometheus answers a query, with labels and values that someone else made up.
def vector(*labels: dict[str, str], value: str = "1") -> bytes:
    result = [{"metric": each, "value": [1, value]} for each in labels]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def queried(body: bytes, chunks: int = 1) -> dict[str, Any]:
    """The answer of the tool query, of a Prometheus that answers so."""
    with server(body, chunks=chunks) as (address, _):
        return TOOLS["query"].call(Sources(f"http://{address}"), {"promql": "x"}).model_dump()


def test_sql_text_in_labels_is_left_out() -> None:
    found = queried(vector({"query": "select ssn from people where id = 7", "instance": "PROD1"}))
    assert found["series"][0]["labels"] == {"query": LEFT_OUT, "instance": "PROD1"}


def test_series_and_bytes_are_bounded() -> None:
    many = vector(*({"n": str(number)} for number in range(1000)))
    found = queried(many)
    assert (len(found["series"]), found["series_left_out"]) == (50, 950)
    assert found["notes"] == ["series were left out: use topk, sum by or more label matchers"]
    with pytest.raises(UserError, match="the answer has over 16,777,216 bytes"):
        queried(many, chunks=10**6)


@pytest.mark.parametrize("kind", ["matrix", "string"])
def test_other_results_than_values_are_refused(kind: str) -> None:
    body = json.dumps({"status": "success", "data": {"resultType": kind, "result": []}}).encode()
    with pytest.raises(UserError, match=f"it gives a {kind}"):
        queried(body)


def test_infinite_values_are_no_values() -> None:
    assert queried(vector({"a": "b"}, value="+Inf"))["series"] == []


ALERT_RULE = """
groups:
  - name: test
    rules:
      - alert: AseSpinlockContention
        expr: vector(0.7)
        labels: {severity: critical, instance: PROD1, spinlock: log cache}
        annotations:
          summary: 'PROD1: log cache is contended'
          description: the culprit ran select name from customers
      - alert: SomethingElse
        expr: vector(1)
        for: 1h
        labels: {instance: PROD2}
"""


@pytest.mark.e2e
@needs_prometheus
def test_alerts_come_with_their_runbooks(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(ALERT_RULE)
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{evaluation_interval: 1s}}\nrule_files: [{tmp_path / 'rules.yml'}]\n"
    )
    (tmp_path / "data").mkdir()
    with running_prometheus(tmp_path) as url:
        sources = Sources(url)
        while not (found := TOOLS["alerts"].call(sources, {}).model_dump())["alerts"]:
            """Rules are evaluated within a second."""
        everything = TOOLS["alerts"].call(sources, {"state": "all", "runbooks": False}).model_dump()
        other = TOOLS["alerts"].call(sources, {"server": "PROD2", "state": "pending"}).model_dump()
    (alert,) = found["alerts"]
    assert (alert["alert"], alert["severity"], alert["server"]) == (
        "AseSpinlockContention",
        "critical",
        "PROD1",
    )
    assert alert["labels"] == {"spinlock": "log cache"}
    assert math.isclose(alert["value"], 0.7)
    assert alert["summary"] == "PROD1: log cache is contended"
    assert alert["description"] == LEFT_OUT
    runbook = (REPOSITORY / "alerts/runbooks/AseSpinlockContention.md").read_text()
    assert found["runbooks"] == {"AseSpinlockContention": runbook}
    assert {each["alert"]: each["state"] for each in everything["alerts"]} == {
        "AseSpinlockContention": "firing",
        "SomethingElse": "pending",
    }
    assert everything["runbooks"] == {}
    assert [each["alert"] for each in other["alerts"]] == ["SomethingElse"]


def test_every_alert_has_a_runbook_and_no_name_leads_elsewhere() -> None:
    rules = "".join(path.read_text() for path in (REPOSITORY / "alerts" / "rules").glob("*.alerts.yaml"))
    assert set(re.findall(r"alert: (\w+)", rules)) == set(alerting.runbooks())
    for name in ("../README", "/etc/passwd", "", "AseDown.md", "..", "AseDown\0"):
        assert alerting.runbook(name) is None


@pytest.mark.e2e
@needs_prometheus
def test_servers_that_answer_do_not_answer_and_are_gone(tmp_path: Path) -> None:
    now = time.time()
    seen = (("UP", 1, 60), ("DOWN", 0, 60), ("GONE", 1, 3600), ("OLD", 1, 3 * 86400))
    text = typed(
        {
            "ase_up": [f'ase_up{{instance="{name}"}} {up} {now - age}' for name, up, age in seen],
            "ase_info": [f'ase_info{{instance="UP",version="16.0 SP04"}} 1 {now - 60}'],
        }
    )
    targets = json.dumps([{"targets": ["UP"]}, {"targets": ["NEW"]}]).encode()
    with prometheus_with(text, tmp_path) as url, server(targets) as (address, _):
        found = TOOLS["servers"].call(Sources(url, f"http://{address}"), {}).model_dump()["servers"]
        with pytest.raises(UserError, match=r"servers: exporter: http://127\.0\.0\.1:1/targets: "):
            TOOLS["servers"].call(Sources(url, "http://127.0.0.1:1"), {})
    assert [(each["server"], each["scraped"], each["version"], each["source"]) for each in found] == [
        ("DOWN", "down", None, "prometheus"),
        ("GONE", "no data", None, "prometheus"),
        ("UP", "up", "16.0 SP04", "prometheus and exporter"),
        ("NEW", "no data", None, "exporter"),
    ]


@pytest.mark.e2e
@needs_prometheus
def test_objects_and_space_over_a_window(tmp_path: Path) -> None:
    now = time.time() // 15 * 15
    times = [now - 900 + 15 * number for number in range(60)]
    reads, free = "ase_object_logical_reads_total", "ase:free:ratio"
    samples = {
        "ase_up": [f'ase_up{{instance="ONE"}} 1 {at}' for at in times],
        reads: [
            f'{reads}{{instance="ONE",database="orders",object="{name}"}} {1e6 + rate * (at - now)} {at}'
            for name, rate in (("basket", 10), ("stock", 400))
            for at in times
        ],
        free: [f'{free}{{instance="ONE",database="orders",resource="log"}} 0.25 {at}' for at in times],
    }
    with prometheus_with(typed(samples), tmp_path) as url:
        for name, server_name, expected in (
            ("objects", "ONE", [("orders stock", 400 * 600), ("orders basket", 10 * 600)]),
            ("space", "ONE", [("orders log", 75)]),
            ("objects", "TWO", []),
        ):
            window = {"server": server_name, "start": str(now - 700), "end": str(now - 100)}
            found = TOOLS[name].call(Sources(url), window).model_dump()
            assert [(each["name"], round(each["value"])) for each in found["rows"]] == expected
            assert bool(found["not_known"]) == (not expected)


@pytest.mark.e2e
@needs_prometheus
def test_a_server_without_spinlocks_has_its_other_figures(tmp_path: Path) -> None:
    """As ASE before 15.7 ESD#2, or without `enable spinlock monitoring`."""
    now = time.time() // 15 * 15
    times = [now - 900 + 15 * number for number in range(60)]
    samples = {
        "ase_up": [f'ase_up{{instance="OLD"}} 1 {at}' for at in times],
        "ase_transactions_total": [
            f'ase_transactions_total{{instance="OLD"}} {1e6 + 10 * (at - now)} {at}' for at in times
        ],
    }
    with prometheus_with(typed(samples), tmp_path) as url:
        window = {"server": "OLD", "start": str(now - 900), "end": str(now - 15)}
        found = TOOLS["diagnose"].call(Sources(url), window).model_dump()
        with pytest.raises(UserError, match="Prometheus has no spinlocks of it"):
            TOOLS["hot_spinlocks"].call(Sources(url), window)
    assert found["says"].startswith("NOT KNOWN: ") and "collector spinlocks is off" in found["says"]
    assert "spinning" in {each["finding"] for each in found["not_judged"]}
    assert found["causes"] == []
    assert found["certainty"]["coverage"] == 1
