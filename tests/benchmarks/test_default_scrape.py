"""The default scrape of a large server, beside exporters that everybody knows, on the same machine."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
import yaml
from rich.console import Console
from rich.table import Table
from tests.benchmarks.peers import HOST, Peer, await_port, free_port, program
from tests.benchmarks.scraping import Costs, Memory, in_turn, machine
from tests.exporter.host.postgres import postgres
from tests.exporter.running_exporter import exporter

ROUNDS = 200
# 128 engines, and a little more than 2,000 slots of spinlocks.
SCENARIO = "memscale"
MAX_MEMORY = 80 * 2**20


@pytest.mark.timeout(900)
def test_a_server_of_128_engines_beside_node_exporter_and_postgres_exporter(tmp_path: Path) -> None:
    with ExitStack() as stack:
        start = [ours(tmp_path, frozen=True), ours(tmp_path, frozen=False)]
        start += [node_exporter(), postgres_exporter()]
        running = [stack.enter_context(each) for each in start]
        costs = in_turn(running, ROUNDS)
        memory = {peer.name: peer.memory() for peer in running}
    show(costs, memory)
    assert memory["ase-exporter"].summed <= MAX_MEMORY


@contextmanager
def ours(directory: Path, *, frozen: bool) -> Iterator[Peer]:
    """All defaults, one target. frozen: answers are encoded once, so that the server's own time is small."""
    name = "ase-exporter" if frozen else "ase-exporter, live server"
    simulator = [sys.executable, "-m", "ase_simulator", "--port=0", "--login=watch:simulated"]
    simulator += [f"--scenario={SCENARIO}", *(["--frozen"] if frozen else [])]
    with program(*simulator) as server:
        assert server.stdout
        port = int(server.stdout.readline().rpartition(":")[2])
        configuration = {
            "auth": {"default": {"user": "watch", "password": "simulated"}},
            "targets": [{"name": "large", "host": HOST, "port": port}],
        }
        (own := directory / name.replace(", ", " ")).mkdir()
        with exporter(own, yaml.safe_dump(configuration)) as running:
            listens = int(running.url.rpartition(":")[2])
            yield Peer(name, listens, "/metrics", psutil.Process(running.process.pid))


@contextmanager
def node_exporter() -> Iterator[Peer]:
    """Its defaults."""
    port = free_port()
    with program(
        "prometheus-node-exporter",
        f"--web.listen-address={HOST}:{port}",
        "--log.level=error",
        "--no-collector.systemd",
    ) as process:
        await_port(process, port)
        yield Peer("node_exporter", port, "/metrics", psutil.Process(process.pid))


@contextmanager
def postgres_exporter() -> Iterator[Peer]:
    """Its defaults, against an idle PostgreSQL."""
    port = free_port()
    with postgres() as server:
        source = f"DATA_SOURCE_NAME=postgresql://tester@{HOST}:{server.port}/postgres?sslmode=disable"
        command = ["env", source, "prometheus-postgres-exporter", f"--web.listen-address={HOST}:{port}"]
        with program(*command) as process:
            await_port(process, port)
            yield Peer("postgres_exporter", port, "/metrics", psutil.Process(process.pid))


def show(costs: dict[str, Costs], memory: dict[str, Memory]) -> None:
    """Absolute figures, and CPU a kilobyte, since the answers differ in size."""
    console = Console(width=118)
    table = Table(title="The default scrape")
    for column in (
        "",
        "p50, ms",
        "p99, ms",
        "CPU, ms",
        "answer, kB",
        "CPU, µs/kB",
        "RSS, MiB",
        "once",
        "PSS",
    ):
        table.add_column(column, justify="right")
    for name, cost in costs.items():
        held = memory[name]
        table.add_row(
            name,
            f"{cost.latency * 1000:.1f}",
            f"{cost.p99 * 1000:.1f}",
            f"{cost.cpu * 1000:.1f}",
            f"{cost.size / 1000:,.0f}",
            f"{cost.cpu / cost.size * 1e9:.0f}",
            *(f"{(size or 0) / 2**20:.0f}" for size in (held.summed, held.pages, held.fair)),
        )
    console.print()
    console.print(table)
    console.print(f"{ROUNDS} rounds; {machine()}")
