"""A client that is configured as docs/mcp.md says, with the SDK, and an exporter that runs."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.exporter.compare.test_prometheus import server as prometheus
from tests.exporter.mcp_server.running_server import ask, client
from tests.exporter.running_exporter import configuration, exporter
from tests.exporter.simulated import reading
from tests.exporter.simulated import run as simulated
from tests.paths import REPOSITORY

# In each build, test_sinks has the SDK's client, and test_injections all tools with a real Prometheus.
pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.slow]
TOOLS = ["servers", "diagnose", "sessions", "changes", "compare", "advise"]
# What Prometheus says that has nothing.
NOTHING = b'{"status": "success", "data": {"resultType": "vector", "result": []}}'


def documented(prometheus: str, exporter: str) -> tuple[list[str], dict[str, str]]:
    """Options and environment of the server as docs/mcp.md configures it, with other URLs."""
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(\{.*?\})\n```", page, re.DOTALL)
    block = block.replace("http://127.0.0.1:9090", prometheus).replace("http://127.0.0.1:10150", exporter)
    entry = json.loads(block)["mcpServers"]["ase"]
    assert entry["command"] == "ase-exporter"
    return entry["args"][1:], entry["env"]


async def test_changes_of_a_running_exporter_have_ids(tmp_path: Path) -> None:
    """The change is made while simulator and exporter run."""
    with simulated("16.0 SP03") as server, prometheus(NOTHING) as (address, _):
        settings = configuration(
            {"LIVE": server.address},
            modules={"default": {"collectors": dict(reading("state", "changes").collectors)}},
            changes={"interval": "1s"},
        )
        with exporter(tmp_path, settings) as running:
            options, environment = documented(f"http://{address}", running.url)
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
    assert [(each["server"], each["source"]) for each in known["servers"]] == [("LIVE", "exporter")]
    (change,) = found["changes"]
    assert (change["kind"], change["name"], change["new"]) == ("option", "number of locks", "123456")
    assert re.fullmatch("[0-9a-f]{16}", change["ref"])
    assert change["not_before"] <= change["at"]
    assert found["source"] == "exporter"
