"""The same table from the same server through four programs: latency and CPU, as ratios in one run."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.benchmarks import peers
from tests.benchmarks.scraping import Measured, in_turn, show
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
        running.append(stack.enter_context(peers.floor(server, tmp_path)))
        costs = in_turn(running, ROUNDS[rows])
        # As the shipped collectors of large tables work.
        show(f"{rows:,} rows, 3 labels, 6 values", costs)
    for name, cost in costs.items():
        if "floor" not in name:
            assert cost.series >= len(VALUES) * (DEFAULT_TOP + 1 if "top rows" in name else rows), name
