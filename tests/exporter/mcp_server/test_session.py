"""A scripted session of an assistant, with the SDK's own client, finds the change that caused the contention."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.exporter.mcp_server.running_server import ask, client, tree
from tests.exporter.mcp_server.story import GUILTY, HARMLESS, HOTTEST, LATER, SERVER, Story, stored
from tests.exporter.running_exporter import configuration, exporter
from tests.exporter.simulated import reading
from tests.exporter.simulated import run as simulated
from tests.paths import REPOSITORY

# In each build, test_sinks has the SDK's client, and test_injections all tools with a real Prometheus.
pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.slow]
MEASURES = ["cache_contention", "throughput_per_cpu_unit"]
TOOLS = ["servers", "diagnose", "sessions", "changes", "compare", "advise"]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with stored(tmp_path_factory.mktemp("story")) as found:
        yield found


def documented(prometheus: str, exporter: str) -> tuple[list[str], dict[str, str]]:
    """Options and environment of the server as docs/mcp.md configures it, with other URLs."""
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(\{.*?\})\n```", page, re.DOTALL)
    block = block.replace("http://127.0.0.1:9090", prometheus).replace("http://127.0.0.1:10150", exporter)
    entry = json.loads(block)["mcpServers"]["ase"]
    assert entry["command"] == "ase-exporter"
    return entry["args"][1:], entry["env"]


async def investigate(connected: Any, story: Story) -> dict[str, Any]:
    """What an assistant would ask, one answer leading to the next question; it is not told what happened."""
    known = (await ask(connected, "servers"))["servers"]
    server = known[0]["server"]
    last = {"server": server, "start": str(story.end - 450), "end": str(story.end)}
    health = await ask(connected, "diagnose", **last)
    spinlock = health["causes"][0]["about"]
    found = await ask(connected, "changes", server=server, start=str(story.start + 60))
    verdicts: dict[str, Any] = {}
    throughput: dict[str, Any] = {}
    for change in found["changes"]:
        compared = await ask(connected, "compare", server=server, change=change["ref"], measures=MEASURES)
        throughput[change["name"]] = [
            row["values"] for row in compared["rows"] if row["measure"] == "throughput_per_cpu_unit"
        ]
        verdicts[change["name"]] = next(
            (
                row["against_first"][0]
                for row in compared["rows"]
                if row["name"] == spinlock and row["against_first"][0]
            ),
            None,
        )
    worse = {name: each for name, each in verdicts.items() if each and each["verdict"] == "worse"}
    guilty = max(worse, key=lambda name: worse[name]["difference"])
    return {
        "servers": known,
        "health": health,
        "spinlock": spinlock,
        "changes": found,
        "verdicts": verdicts,
        "guilty": guilty,
        "throughput": throughput[guilty][0],
    }


async def test_the_change_that_caused_the_contention_is_found(story: Story, tmp_path: Path) -> None:
    before = tree(tmp_path)
    async with client(tmp_path.with_suffix(".log"), "--prometheus", story.url) as connected:
        found = await investigate(connected, story)
        await figures_are_those_of_compare(connected)
    assert found["guilty"] == GUILTY
    # In two windows between neighbours, by an interval far from zero, and more than either of the others.
    guilty = found["verdicts"][GUILTY]
    assert guilty["low"] > 0.05
    assert found["verdicts"][HARMLESS] is None
    later = found["verdicts"][LATER]
    assert later is None or later["difference"] < guilty["difference"] / 3
    assert found["spinlock"] == HOTTEST
    assert found["health"]["word"] == "SPINS"
    assert HOTTEST not in found["health"]["causes"][0]["says"]
    assert found["health"]["certainty"]["coverage"] == 1
    assert found["health"]["certainty"]["scrapes"] == 15
    assert [(each["server"], each["version"]) for each in found["servers"]] == [(SERVER, "16.0 SP03 PL08")]
    assert [each["name"] for each in found["changes"]["changes"]] == [HARMLESS, GUILTY, LATER]
    assert found["health"]["causes"][0]["next_steps"]
    assert found["health"]["causes"][0]["share"] > 0.5 and found["health"]["causes"][0]["held"] == 1
    before_it, after_it = found["throughput"]
    assert after_it < 0.7 * before_it
    assert tree(tmp_path) == before
    assert tmp_path.with_suffix(".log").read_text() == ""


async def figures_are_those_of_compare(connected: Any) -> None:
    """Each says how sure it is."""
    compared = await ask(connected, "compare", server=SERVER, change=GUILTY)
    assert compared["confidence"] == 0.95
    assert compared["headline"].startswith("Transactions per CPU unit: worse by ")
    assert compared["rows_without_evidence"] > 0
    assert all(
        any(each["verdict"] != "no evidence" for each in row["against_first"]) for row in compared["rows"]
    )
    assert all(
        each["low"] <= each["difference"] <= each["high"]
        for row in compared["rows"]
        for each in row["against_first"]
    )


async def test_changes_of_a_running_exporter_have_ids(story: Story, tmp_path: Path) -> None:
    """As the page configures it; the change is made while simulator and exporter run."""
    with simulated("16.0 SP03") as server:
        settings = configuration(
            {"LIVE": server.address},
            modules={"default": {"collectors": dict(reading("state", "changes").collectors)}},
            changes={"interval": "1s"},
        )
        with exporter(tmp_path, settings) as running:
            options, environment = documented(story.url, running.url)
            probe = f"{running.url}/probe?target=LIVE"
            async with client(tmp_path / "log", *options, environment=environment) as connected:
                assert [tool.name for tool in (await connected.list_tools()).tools] == TOOLS
                assert "how sure" in (connected.instructions or "")
                known = await ask(connected, "servers")
                httpx2.get(probe, timeout=60)
                server.model.set_option("number of locks", 123_456, "sa")
                found: dict[str, Any] = {"changes": []}
                while not found["changes"]:
                    httpx2.get(probe, timeout=60)
                    found = await ask(connected, "changes", server="LIVE")
    assert {each["server"]: each["source"] for each in known["servers"]} == {
        SERVER: "prometheus",
        "LIVE": "exporter",
    }
    (change,) = found["changes"]
    assert (change["kind"], change["name"], change["new"]) == ("option", "number of locks", "123456")
    assert re.fullmatch("[0-9a-f]{16}", change["ref"])
    assert change["not_before"] <= change["at"]
    assert found["source"] == "exporter"
