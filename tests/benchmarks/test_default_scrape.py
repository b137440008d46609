"""The default scrape of a server, beside node_exporter on the same machine."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
import yaml
from tests.benchmarks.peers import HOST, Peer, in_turn, program, show
from tests.exporter.many_databases import many_databases
from tests.exporter.running_exporter import exporter
from tests.ports import free_block
from tests.programs import START, answers, eventually

ROUNDS = int(os.environ.get("ROUNDS", "200"))
USER, PASSWORD = "watch", "simulated"
# 128 engines, and a little more than 2,000 slots of spinlocks.
SCENARIO = "memscale"
MAX_MEMORY = 80 * 2**20
OURS = "ase-exporter"
DATABASES = (10, 300, 1_000)
# The first two words of a name say what a series is about; what the exporter reads for it.
JUDGED = b'ase_diagnosis_finding{finding="spinning"'
GROUP = re.compile(rb"(?m)^(ase_[a-z]+)")
READ = tuple(f"ase_exporter_{name}".encode() for name in ("rows_", "received_", "scrapes_", "series_cut"))


@pytest.mark.timeout(1800)
def test_a_server_of_128_engines_beside_node_exporter(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(simulator(SCENARIO, "--speed=60"))
        first = stack.enter_context(ours(tmp_path, OURS, server))
        # Until there is growth to judge, scrapes have less of a diagnosis and cost less than all that follow.
        eventually("contention is judged", lambda: JUDGED in first.answer(), START)
        running = [first, stack.enter_context(node_exporter())]
        costs = in_turn(running, ROUNDS)
        memory = {peer.name: peer.memory() for peer in running}
    show("The default scrape, 128 engines", costs, memory)
    assert memory[OURS] <= MAX_MEMORY


@pytest.mark.timeout(600)
def test_default_scrapes_of_10_300_and_1000_databases(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ports = [
            stack.enter_context(simulator(many_databases(tmp_path, count), "--speed=3600"))
            for count in DATABASES
        ]
        running = [
            stack.enter_context(ours(tmp_path, f"{count} databases", port))
            for count, port in zip(DATABASES, ports, strict=True)
        ]
        costs = in_turn(running, min(ROUNDS, 20))
        memory = {peer.name: peer.memory() for peer in running}
        for peer in running:
            groups = Counter(match[1].decode() for match in GROUP.finditer(peer.answer()))
            print(f"{peer.name}: {', '.join(f'{name} {count}' for name, count in groups.most_common(8))}")
            print(*(line.decode() for line in peer.answer().splitlines() if line.startswith(READ)), sep="\n")
    show("Default scrapes by number of databases", costs, memory)


@contextmanager
def simulator(scenario: str, *options: str) -> Iterator[int]:
    """The port of a simulated server."""
    command = [sys.executable, "-m", "ase_simulator", "--port=0", f"--login={USER}:{PASSWORD}"]
    with program(*command, f"--scenario={scenario}", *options) as server:
        assert server.stdout
        yield int(server.stdout.readline().rpartition(":")[2])


@contextmanager
def ours(directory: Path, name: str, server: int) -> Iterator[Peer]:
    """One target, all defaults but for the budget: back to back, scrapes would exceed it and read less."""
    configuration = {
        "auth": {"default": {"user": USER, "password": PASSWORD}},
        "scrape": {"budget": None},
        "targets": [{"name": "large", "host": HOST, "port": server}],
    }
    (own := directory / name.replace(", ", " ")).mkdir()
    with exporter(own, yaml.safe_dump(configuration)) as running:
        listens = int(running.url.rpartition(":")[2])
        yield Peer(name, listens, "/probe?target=large", psutil.Process(running.process.pid))


@contextmanager
def node_exporter() -> Iterator[Peer]:
    """Its defaults."""
    port = free_block(1)
    with program(
        "prometheus-node-exporter",
        f"--web.listen-address={HOST}:{port}",
        "--log.level=error",
        "--no-collector.systemd",
    ) as process:
        eventually("node_exporter answers", partial(answers, f"http://{HOST}:{port}/"), START)
        yield Peer("node_exporter", port, "/metrics", psutil.Process(process.pid))
