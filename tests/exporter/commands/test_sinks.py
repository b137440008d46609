"""Hostile names in a server, in annotations and in a Prometheus: no command, page or file lets one escape."""

import asyncio
import csv
import gzip
import json
import re
import time
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import httpx2
import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.compare.test_prometheus import server as prometheus
from tests.exporter.mcp_server.running_server import client
from tests.exporter.running_exporter import configuration, exporter
from tests.exporter.simulated import run as simulated
from tests.exporter.untrusted.hostile_names import hostile_names
from tests.paths import REPOSITORY

# Those that fit into a column.
NAMES = [
    name for name in hostile_names(240) if len(name.encode(errors="replace")) < 250 and "\ud800" not in name
][:210]
COLUMNS = REPOSITORY / "simulator/ase_simulator/schema/mon_columns.csv"
NAMED = re.compile(r"(?<!Table)(?<!olumn)(?<!Type)(Name|Login|Application|Host|ErrorMessage|SQLText)$")
MARKUP = re.compile(r"<script>alert|<img src=x|href=.http://evil")
OF_ITS_OWN = re.compile(r"^\s*(shutdown|drop table)", re.M)
COMMANDS = ["top --record R --interval 1 --once", "top --replay R --once"]
COMMANDS += ["top --sql --once --interval 1", "advise --seconds 1", "check", "check --sql"]
COMMANDS += [
    "capture --scrapes 1 --output P",
    "capture --keep-names --scrapes 1 --output C",
    "top --replay C --once",
]
FORMS = ("table", "json")
PAGES = ["/probe?target=A", "/", "/metrics", "/targets", "/changes", "/changes?format=json"]
PAGES += ["/sessions?target=A", "/sessions?target=A&format=json"]
# Labels of what reads a Prometheus.
LABELS = ["spinlock", "cache", "kind", "name", "from", "to", "alertname", "severity", "database", "device"]


def require_safe(*texts: str) -> None:
    """Fails for text that is not printable, or does something where it is shown."""
    for text in texts:
        assert all(line.expandtabs().isprintable() for line in text.split("\n")), text
        assert not OF_ITS_OWN.search(text), text
        assert not (text.startswith("<") and MARKUP.search(text)), text


def planted(names: Iterable[str]) -> dict[str, str]:
    """A name for each column with names."""
    rows = csv.DictReader(COLUMNS.read_text().splitlines())
    columns = [f"{row['table']}.{row['column']}" for row in rows if NAMED.search(row["column"])]
    return dict(zip(columns, cycle(names), strict=False))


@pytest.mark.parametrize(
    "names",
    [NAMES[:10], *(pytest.param(NAMES[at::2], marks=pytest.mark.slow) for at in (10, 11))],
    ids=["some", "even", "odd"],
)
def test_no_name_of_a_server_escapes(
    names: list[str], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "state"
    options = [f"--state-dir={state}", "--web.enable-annotations", "--log.level=debug"]
    with simulated("16.0 SP04", "quiet-oltp") as server:
        settings = configuration({"A": server.address})
        server.faults.column_values.update(planted(names))
        with exporter(tmp_path, settings, options) as running:
            with httpx2.Client(base_url=running.url, trust_env=False, timeout=60) as caller:
                for name in names:
                    caller.post("/annotations", json={"text": name, "who": name, "tags": [name]})
                require_safe(*(caller.get(page).text for page in PAGES))
                require_safe(*(caller.get("/probe", params={"target": name}).text for name in names))
            url = running.url
            require_safe(*(run("changes", "--url", url, "--format", form).stdout for form in FORMS))
            require_safe(*(run("changes", "--url", url, "--text", name).stdout for name in names[:3]))
        require_safe(running.log, *map(str, state.rglob("*")))
        for command in COMMANDS:
            own = () if "--replay" in command else ("--config.file", "exporter.yml")
            ended = run(*command.split(), *own)
            require_safe(ended.stdout, ended.stderr)
        require_safe(gzip.decompress((tmp_path / "P").read_bytes()).decode())


def test_no_name_of_a_prometheus_escapes(tmp_path: Path, run: Run) -> None:
    now, pages = time.time(), tmp_path / "page.html"
    names = cycle(NAMES)
    series = [
        {"instance": "A"} | {label: next(names) for label in LABELS}
        for _ in range(len(NAMES) // len(LABELS) + 1)
    ]
    times = [now - 120 * step for step in range(50)]
    result = [
        {"metric": labels, "value": [now, "1"], "values": [[at, "1"] for at in reversed(times)]}
        for labels in series
    ]
    data = {"resultType": "vector", "result": result}
    body = {"status": "success", "data": data, "warnings": NAMES}
    windows = ("--target", "A", "--before", "now-80m..now-50m", "--after", "now-40m..now")
    measures = ("--measure", "cache_contention", "--measure", "waits_by_class")

    async def assistant(*options: str) -> None:
        async with client(tmp_path / "log", *options) as connected:
            for tool in ("servers", "changes", "diagnose"):
                arguments = {} if tool == "servers" else {"server": "A"}
                answer = await connected.call_tool(tool, arguments)
                (text,) = (getattr(each, "text", "") for each in answer.content)
                assert answer.is_error or json.loads(text) == answer.structured_content
                require_safe(text)

    with prometheus(json.dumps(body).encode()) as (address, _):
        peer = ("--prometheus", f"http://{address}")
        asked: list[tuple[str, ...]] = [("compare", *windows, *measures)]
        asked += [(*asked[0], "--format", "json"), (*asked[0], "--format", "html", "--output", str(pages))]
        asked.append(("report", *windows[:2], "--since", "2h", "--output", str(pages)))
        for command in asked:
            ended = run(*command, *peer)
            require_safe(ended.stdout, ended.stderr, pages.read_text() if pages.exists() else "")
        asyncio.run(assistant(*peer))
