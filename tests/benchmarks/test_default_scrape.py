"""The default scrape of a server, beside node_exporter on the same machine."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest
from tests.benchmarks.peers import Peer, in_turn
from tests.exporter.many_databases import many_databases
from tests.exporter.running_exporter import configuration, exporter
from tests.planted import DATABASE
from tests.ports import HOST, free_block
from tests.programs import START, answers, eventually, running
from tests.simulator.test_cli import simulator

ROUNDS = int(os.environ.get("ROUNDS", "200"))
# 128 engines, and a little more than 2,000 slots of spinlocks.
SCENARIO = "memscale"
MAX_MEMORY = 80 * 2**20
DATABASES = (10, 300, 1_000)
JUDGED = b'ase_diagnosis_finding{finding="spinning"'
# The first two words of a name say what a series is about; what the exporter reads for it.
GROUP = re.compile(rb"(?m)^(ase_[a-z]+)")
READ = tuple(f"ase_exporter_{name}".encode() for name in ("rows_", "received_", "scrapes_", "series_cut"))


@pytest.mark.timeout(1800)
def test_a_server_of_128_engines_beside_node_exporter(tmp_path: Path) -> None:
    with ours(tmp_path, "ase-exporter", SCENARIO, "--speed=60") as first, node_exporter(tmp_path) as other:
        in_turn("The default scrape, 128 engines", [first, other], ROUNDS)
        assert first.memory() <= MAX_MEMORY


@pytest.mark.timeout(600)
def test_default_scrapes_of_10_300_and_1000_databases(tmp_path: Path) -> None:
    with ExitStack() as stack:
        scenarios = {f"{count} databases": many_databases(tmp_path, count) for count in DATABASES}
        peers = [
            stack.enter_context(ours(tmp_path, name, scenario, "--speed=3600"))
            for name, scenario in scenarios.items()
        ]
        in_turn("Default scrapes by number of databases", peers, min(ROUNDS, 20))
        for peer in peers:
            groups = Counter(match[1].decode() for match in GROUP.finditer(peer.answer()))
            print(f"{peer.name}: {', '.join(f'{name} {count}' for name, count in groups.most_common(8))}")
            print(*(line.decode() for line in peer.answer().splitlines() if line.startswith(READ)), sep="\n")


@contextmanager
def ours(directory: Path, name: str, scenario: str, speed: str) -> Iterator[Peer]:
    """One target, all defaults but for the budget: back to back, scrapes would exceed it and read less."""
    (own := directory / name).mkdir()
    with simulator(f"--scenario={scenario}", speed, f"--login=monitor:{DATABASE}") as (_, (port,)):
        settings = configuration({"large": (HOST, port)}, scrape={"budget": None}, changes={})
        with exporter(own, settings) as found:
            connection = HTTPConnection(found.url.removeprefix("http://"), timeout=START)
            peer = Peer(name, psutil.Process(found.process.pid), connection, "/probe?target=large")
            # Until there is growth to judge, scrapes have less of a diagnosis and cost less than all that follow.
            eventually("contention is judged", lambda: JUDGED in peer.answer(), START)
            yield peer


@contextmanager
def node_exporter(directory: Path) -> Iterator[Peer]:
    """Its defaults."""
    address = f"{HOST}:{free_block(1)}"
    options = [f"--web.listen-address={address}", "--log.level=error", "--no-collector.systemd"]
    with running(directory / "log", "prometheus-node-exporter", *options) as process:
        eventually("node_exporter answers", partial(answers, f"http://{address}/"), START)
        connection = HTTPConnection(address, timeout=START)
        yield Peer("node_exporter", psutil.Process(process.pid), connection, "/metrics")
