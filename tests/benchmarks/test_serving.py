"""A large table by ours, with series for every row and for the top rows alone, and by others over the same wire."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
import yaml
from tests.benchmarks.peers import BUILT, HOST, ODBC, Peer, await_port, program
from tests.benchmarks.scraping import Measured, in_turn, show
from tests.benchmarks.table_server import LABELS, PASSWORD, QUERY, USER, VALUES
from tests.exporter.running_exporter import exporter
from tests.ports import free_block

from ase_exporter.catalogue.plan import DEFAULT_TOP

# CPU of the quickest is told in ticks of 10 ms: so many rounds that they do not matter.
ROUNDS = {1_000: 100, 10_000: 25}
# Name, and further keys of the collector. Those of objects and statements ship with top rows.
COLLECTORS: dict[str, dict[str, object]] = {
    "top rows": {"top": [*VALUES][:4]},
    "every row": {},
}
HERE = Path(__file__).parent


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rows", ROUNDS)
def test_a_large_table_beside_query_exporter_and_go(rows: int, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(
            program(sys.executable, "-m", "tests.benchmarks.table_server", str(rows))
        )
        assert server.stdout
        port = int(server.stdout.readline())
        peers: list[Measured] = [
            stack.enter_context(ours(name, port, tmp_path / name)) for name in COLLECTORS
        ]
        peers.append(stack.enter_context(query_exporter(port, tmp_path)))
        peers.append(stack.enter_context(go_reference(port)))
        costs = in_turn(peers, ROUNDS[rows])
        show(f"{rows:,} rows, 3 labels, 6 values", costs)
    for name, cost in costs.items():
        assert cost.series >= len(VALUES) * (DEFAULT_TOP + 1 if name == "top rows" else rows), name


@contextmanager
def ours(name: str, server: int, directory: Path) -> Iterator[Peer]:
    """`ase-exporter serve` with a catalogue file for the table, and no other collector."""
    directory.mkdir()
    collector = {
        "help": "A large table.",
        "sql": QUERY,
        "columns": {**LABELS, **VALUES},
        "labels": {label: label for label in LABELS},
        "metrics": {f"{value}_total": {"help": "Counted.", "column": value} for value in VALUES},
        "roles": [],
        **COLLECTORS[name],
    }
    (directory / "catalogue").mkdir()
    catalogue = yaml.safe_dump({"benchmark": collector}, sort_keys=False)
    (directory / "catalogue" / "benchmark.yaml").write_text(catalogue)
    configuration = {
        "auth": {"default": {"user": USER, "password": PASSWORD}},
        "catalogue": {"directories": [str(directory / "catalogue")]},
        # Back to back, scrapes would exceed it, and the table would be read less often.
        "scrape": {"budget": None},
        "modules": {"default": {"series_limit": 10_000_000}},
        "targets": [{"name": "bench", "host": HOST, "port": server}],
    }
    with exporter(directory, yaml.safe_dump(configuration)) as running:
        port = int(running.url.rpartition(":")[2])
        yield Peer(name, port, "/probe?target=bench&collect[]=benchmark", psutil.Process(running.process.pid))


@contextmanager
def query_exporter(server: int, directory: Path) -> Iterator[Peer]:
    """query-exporter over pyodbc and the same driver, at scrape time; gauges, which cost it least."""
    python = BUILT / "query-exporter/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        requirements = str(HERE / "query-exporter-requirements.txt")
        if subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements]).returncode:
            shutil.rmtree(python.parent.parent)
            pytest.skip("query-exporter cannot be installed here")
    dsn = f"sybase+pyodbc:///?odbc_connect={quote(ODBC.format(port=server, user=USER, password=PASSWORD))}"
    metric = {"type": "gauge", "description": "Counted.", "labels": [*LABELS]}
    configuration = {
        "databases": {"bench": {"dsn": dsn}},
        "metrics": dict.fromkeys(VALUES, metric),
        "queries": {"benchmark": {"databases": ["bench"], "metrics": [*VALUES], "sql": QUERY}},
    }
    path = directory / "query-exporter.json"
    path.write_text(json.dumps(configuration))
    port = free_block(1)
    options = ["--config", str(path), "--port", str(port), "--host", HOST, "--log-level", "error"]
    with program(str(python.with_name("query-exporter")), *options) as process:
        await_port(process, port)
        yield Peer("query-exporter", port, "/metrics", psutil.Process(process.pid))


@contextmanager
def go_reference(server: int) -> Iterator[Peer]:
    """A small exporter in Go: thda/tds and client_golang."""
    if shutil.which("go") is None:
        pytest.skip("no Go compiler here")
    built = str(BUILT / "go_reference")
    environment = os.environ | {"GOFLAGS": "-buildvcs=false"}
    if subprocess.run(
        ["go", "build", "-o", built, "."], cwd=HERE / "go_reference", env=environment
    ).returncode:
        pytest.skip("the Go reference cannot be built here")
    dsn = f"tds://{USER}:{PASSWORD.replace(' ', '%20')}@{HOST}:{server}/master?charset=utf8&packetSize=4096"
    with program(built, dsn, QUERY, str(len(LABELS))) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        yield Peer("Go reference", port, "/metrics", psutil.Process(process.pid))
