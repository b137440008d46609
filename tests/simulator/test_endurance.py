"""The simulator under long load."""

import time
from contextlib import ExitStack
from itertools import cycle

import psutil
import pytest
from tests.simulator.tds.raw import RawClient
from tests.simulator.test_cli import simulator

CONNECTIONS = 200
QUERIES_A_SECOND = 50
SECONDS = 60
TOLERATED_GROWTH = 4 * 1024 * 1024

QUERIES = [
    "select SpinlockName, sum(Grabs), sum(Spins), sum(Waits) from master..monSpinlockActivity group by SpinlockName",
    "select * from master..monEngine",
    "select * from master..monDataCache",
    "select * from master..monState",
    "select name, value from master..sysconfigures",
    "print 'still here'",
    "select * from no_such_table",
]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_does_not_grow_under_steady_load_of_many_connections() -> None:
    with simulator("--speed", "10") as (program, (port,)), ExitStack() as stack:
        clients = [stack.enter_context(RawClient(port)) for _ in range(CONNECTIONS)]
        for client in clients:
            assert client.login("sa", "")[-1]["status"] == 0
        for client in clients * 2:  # until every session has its tables and its plans
            for query in QUERIES:
                client.ask(client.codec.language(query))
        process = psutil.Process(program.pid)
        settled = process.memory_info().rss
        load = zip(cycle(clients), cycle(QUERIES), strict=False)
        started = time.monotonic()
        for number in range(SECONDS * QUERIES_A_SECOND):
            time.sleep(max(0.0, started + number / QUERIES_A_SECOND - time.monotonic()))
            client, query = next(load)
            client.ask(client.codec.language(query))
        grown = process.memory_info().rss - settled
    assert grown < TOLERATED_GROWTH, f"from {settled} by {grown} bytes"
