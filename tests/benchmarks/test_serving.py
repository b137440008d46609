"""The same table from the same server through four programs: latency and CPU, as ratios in one run."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from tests.benchmarks import peers
from tests.benchmarks.scraping import Costs, Measured, in_turn, machine
from tests.benchmarks.table_server import VALUES

from ase_exporter.catalogue.plan import DEFAULT_TOP

# CPU of the quickest is told in ticks of 10 ms: so many rounds that they do not matter.
ROUNDS = {1_000: 100, 10_000: 25}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rows", ROUNDS)
def test_ours_query_exporter_go_and_the_floor(rows: int, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(peers.table_server(rows))
        exporters = (peers.ours_top_rows, peers.ours, peers.query_exporter, peers.go_reference)
        running: list[Measured] = [stack.enter_context(each(server, tmp_path)) for each in exporters]
        if built := os.environ.get("BENCH_DBMS_EXPORTER"):
            running.append(stack.enter_context(peers.dbms_exporter(built, server, tmp_path)))
        running.append(stack.enter_context(peers.floor(server, tmp_path)))
        costs = in_turn(running, ROUNDS[rows])
        show(rows, costs)
    for name, cost in costs.items():
        if "floor" not in name:
            assert cost.series >= len(VALUES) * (DEFAULT_TOP + 1 if "top rows" in name else rows), name


def show(rows: int, costs: dict[str, Costs]) -> None:
    """Absolute figures, and how many times ours (as the shipped collectors of large tables work) each is."""
    console = Console(width=118)
    table = Table(title=f"{rows:,} rows, 3 labels, 6 values")
    for column in (
        "",
        "p50, ms",
        "p99, ms",
        "CPU, ms",
        "answer, kB",
        "series",
        "latency: ours / it",
        "CPU: ours / it",
    ):
        table.add_column(column, justify="right")
    ours = costs["ase-exporter, top rows"]
    for name, cost in costs.items():
        table.add_row(
            name,
            f"{cost.latency * 1000:.2f}",
            f"{cost.p99 * 1000:.2f}",
            f"{cost.cpu * 1000:.2f}",
            f"{cost.size / 1000:,.0f}",
            f"{cost.series:,}",
            f"{ours.latency / cost.latency:.3f}",
            f"{ours.cpu / cost.cpu:.3f}",
        )
    console.print()
    console.print(table)
    console.print(f"{len(ours.each)} rounds; {machine()}")
