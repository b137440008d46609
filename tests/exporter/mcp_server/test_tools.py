"""The list of tools, their schemas, and what each does with sources of other kinds."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.compare.test_prometheus import server
from tests.exporter.diagnosis.states import generated
from tests.exporter.mcp_server.test_injections import PLAIN, UNITS, numbers
from tests.exporter.web.test_session_routes import SNAPSHOT, WAITS, text
from tests.exporter.web.test_session_routes import Exporter as PageExporter
from tests.exporter.web.test_session_routes import answer as session_answer
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.changes.change import Change
from ase_exporter.diagnosis.data import diagnosis_data
from ase_exporter.diagnosis.diagnose import diagnose
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import answers
from ase_exporter.mcp_server.privacy import LEFT_OUT
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS
from ase_exporter.views.plain import as_json

BAD_ARGUMENTS: list[Any] = load_yaml(Path(__file__).with_name("bad_arguments.yaml").read_text())


def described(name: str) -> dict[str, Any]:
    return TOOLS[name].described().model_dump(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_described(name: str) -> None:
    tool = described(name)
    assert tool["name"] == name
    assert 40 < len(tool["description"]) < 600
    assert tool["annotations"]["readOnlyHint"] is True
    assert tool["annotations"]["destructiveHint"] is False
    given = tool["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(given)
    assert given["type"] == "object" and given["additionalProperties"] is False
    for argument, schema in given.get("properties", {}).items():
        assert "description" in json.dumps(schema), argument


def test_arguments_are_the_ones_documented() -> None:
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    for name, tool in TOOLS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert {argument for argument in tool.arguments.model_fields if f"`{argument}`" not in row} == set()


def test_sessions_chains_statements_and_waits_are_those_of_the_exporter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, str]] = []

    def answer(url: str, path: str, parameters: dict[str, str], accepted: int) -> Any:
        asked.append(parameters)
        exporter = PageExporter(True, replace(SNAPSHOT, waits=(WAITS,)))
        return json.loads(text(session_answer(exporter, **parameters)))

    def sessions(**more: object) -> dict[str, Any]:
        return TOOLS["sessions"].call(sources, {"server": "ONE", **more})

    monkeypatch.setattr(answers, "ask_exporter", answer)
    sources = Sources("http://127.0.0.1:1", "http://127.0.0.1:2")
    found = sessions(text=True)
    assert found["active"] == {"lock": 2, "cpu": 1}
    counted = {*numbers(found)} - {*found["active"], *found["left_out"]}
    assert [each for each in counted - PLAIN if not UNITS.search(each)] == []
    assert {"login", "program", "statement", "text", "objects"} < {*found["foreign"]}
    assert [each["text"] for each in found["sessions"] if each["text"]] == ["select a from t where b = ?"]
    assert found["statements"][0]["change"] == "40 -> 900 reads each"
    few = sessions(limit=2)
    assert [each["spid"] for each in few["blocking"]] == [7, 10]
    assert few["left_out"] == {"sessions": 2, "blocking": 1, "statements": 0, "waits": 0}
    assert not any(each["text"] for each in few["sessions"])
    one = sessions(spid=10)
    assert (one["waits"][0]["window"], asked[-1]["spid"]) == (5.0, "10")
    assert [each["recent"] for each in one["waits"][0]["events"]] == [4.5, None]
    assert "text" in asked[0] and not any("text" in each for each in asked[1:])
    monkeypatch.undo()
    with pytest.raises(UserError, match="--url URL"):
        TOOLS["sessions"].call(Sources("http://127.0.0.1:1"), {"server": "ONE"})
    down = json.dumps({"target": "ONE", "error": "login failed", "snapshot": None}).encode()
    with (
        server(down, status=503) as (address, _),
        pytest.raises(UserError, match=r"^sessions: ONE does not answer: login failed$"),
    ):
        TOOLS["sessions"].call(Sources("http://127.0.0.1:1", f"http://{address}"), {"server": "ONE"})


TOO_LONG = ("diagnose", {"server": "x" * 201}, "diagnose: server: expected at most 200 characters")


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


def servers(body: bytes, chunks: int = 1) -> dict[str, Any]:
    """The answer of the tool servers, of a Prometheus that answers so."""
    with server(body, chunks=chunks) as (address, _):
        return TOOLS["servers"].call(Sources(f"http://{address}"), {})


def test_sql_text_in_labels_is_left_out() -> None:
    (found,) = servers(
        vector({"instance": "select ssn from people where id = 7", "version": "16.0", "word": "WORKS"})
    )["servers"]
    assert (found["server"], found["version"], found["diagnosis"]) == (LEFT_OUT, "16.0", "WORKS")


def test_servers_and_bytes_are_bounded() -> None:
    many = vector(*({"instance": str(number)} for number in range(1200)))
    found = servers(many)
    assert (len(found["servers"]), found["notes"]) == (1000, ["200 more servers are left out"])
    with pytest.raises(UserError, match="the answer has over 16,777,216 bytes"):
        servers(many, chunks=10**6)


def test_advice_is_that_of_the_exporter_with_names_of_others_marked() -> None:
    step = {"statements": ["exec sp_cacheconfig 'hot'"], "gains": "at most 56% of session time"}
    told = {"causes": [{"cause": {"about": "hot", "share": 0.56}, "steps": [step]}]}
    with server(json.dumps(told).encode()) as (address, _):
        found = TOOLS["advise"].call(Sources("http://127.0.0.1:1", f"http://{address}"), {"server": "ONE"})
    assert found["causes"] == told["causes"]
    assert found["foreign"] == ["about", "gains", "statements"]
    with server(b"null") as (address, _), pytest.raises(UserError, match="it does not answer: ask diagnose"):
        TOOLS["advise"].call(Sources("http://127.0.0.1:1", f"http://{address}"), {"server": "ONE"})
    with pytest.raises(UserError, match="which --url names"):
        TOOLS["advise"].call(Sources("http://127.0.0.1:1"), {"server": "ONE"})


@pytest.mark.e2e
@needs_prometheus
def test_servers_that_answer_do_not_answer_and_are_gone(tmp_path: Path) -> None:
    now = time.time()
    seen = (("UP", 1, 60), ("DOWN", 0, 60), ("GONE", 1, 3600), ("OLD", 1, 3 * 86400))
    samples = [f'ase_up{{instance="{name}"}} {up} {now - age}' for name, up, age in seen]
    samples.append(f'ase_info{{instance="UP",version="16.0 SP04"}} 1 {now - 60}')
    known = as_json({"UP": diagnosis_data(diagnose(generated(1))), "NEW": {}})
    with prometheus_with(samples, tmp_path) as url, server(json.dumps(known).encode()) as (address, _):
        found = TOOLS["servers"].call(Sources(url, f"http://{address}"), {})["servers"]
        with pytest.raises(UserError, match=r"servers: url: http://127\.0\.0\.1:1/diagnosis: "):
            TOOLS["servers"].call(Sources(url, "http://127.0.0.1:1"), {})
        alone = TOOLS["servers"].call(Sources("http://127.0.0.1:1", f"http://{address}"), {})
    assert {each["server"]: each["diagnosis"] for each in alone["servers"]} == {
        "UP": known["UP"]["word"],
        "NEW": None,
    }
    assert len(alone["notes"]) == 1 and "127.0.0.1:1" in alone["notes"][0]
    assert [(each["server"], each["scraped"], each["version"], each["source"]) for each in found] == [
        ("UP", "up", "16.0 SP04", "prometheus and exporter"),
        ("DOWN", "down", None, "prometheus"),
        ("GONE", "no data", None, "prometheus"),
        ("NEW", "no data", None, "exporter"),
    ]


def test_changes_are_those_of_the_exporter_with_their_ids() -> None:
    now = time.time()
    made = Change("0123456789abcdef", "ONE", "option", "number of locks", "5000", "9000", now - 60, now - 120)
    with server(vector()) as (prometheus, _), server(json.dumps([made.json()]).encode()) as (exporter, _):
        sources = Sources(f"http://{prometheus}", f"http://{exporter}")
        found = TOOLS["changes"].call(sources, {"server": "ONE"})
    (change,) = found["changes"]
    assert (change["kind"], change["name"], change["new"]) == ("option", "number of locks", "9000")
    assert change["ref"] == made.id and change["not_before"] <= change["at"]
    assert found["source"] == "exporter"


def test_the_exporter_of_the_page_and_of_the_configuration_is_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served: list[Sources] = []
    monkeypatch.setattr("ase_exporter.mcp_server.server.serve", served.append)
    (tmp_path / "exporter.yaml").write_text("exporter: http://e:1\nprometheus: http://p:2\n")
    configured = ("mcp", f"--config.file={tmp_path}/exporter.yaml")
    assert run(*configured).returncode == run(*configured, "--url", "http://e:3").returncode == 0
    assert run("mcp", "--prometheus", "http://p:4", ASE_EXPORTER_CONFIG="").returncode == 0
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(\{.*?\})\n```", page, re.DOTALL)
    entry = json.loads(block)["mcpServers"]["ase"]
    assert entry["command"] == "ase-exporter"
    assert run(*entry["args"], **entry["env"]).returncode == 0
    assert "--url: 'ftp://e'" in run("mcp", "--prometheus", "http://p:4", "--url", "ftp://e").stderr
    assert [(each.prometheus, each.exporter) for each in served] == [
        ("http://p:2", "http://e:1"),
        ("http://p:2", "http://e:3"),
        ("http://p:4", None),
        ("http://127.0.0.1:9090", "http://127.0.0.1:10150"),
    ]
