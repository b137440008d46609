"""A large table with series for every row, and for the top rows alone."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
import yaml
from tests.benchmarks.peers import HOST, Peer, program
from tests.benchmarks.scraping import in_turn, show
from tests.benchmarks.table_server import LABELS, PASSWORD, QUERY, USER, VALUES
from tests.exporter.running_exporter import exporter

from ase_exporter.catalogue.plan import DEFAULT_TOP

# CPU of the quickest is told in ticks of 10 ms: so many rounds that they do not matter.
ROUNDS = {1_000: 100, 10_000: 25}
# Name, and further keys of the collector. Those of objects and statements ship with top rows.
COLLECTORS: dict[str, dict[str, object]] = {
    "top rows": {"top": [*VALUES][:4]},
    "every row": {},
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rows", ROUNDS)
def test_a_large_table(rows: int, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(
            program(sys.executable, "-m", "tests.benchmarks.table_server", str(rows))
        )
        assert server.stdout
        port = int(server.stdout.readline())
        peers = [stack.enter_context(ours(name, port, tmp_path / name)) for name in COLLECTORS]
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
