"""Tables of single events: each event is shown once it happened, and never differently."""

import pytest
from tests.simulator.model.worlds import one, rows_of

from ase_simulator.model import SimulatedServer, load_scenario

PIPES = ["monDeadLock", "monLockTimeout", "monErrorLog"]


@pytest.fixture(scope="module")
def server() -> SimulatedServer:
    """In a storm, which each test reads on, later than the one before it."""
    [server] = load_scenario("storm", speed=0)
    server.advance(700)
    return server


def test_deadlocks_come_when_the_counter_says_so(server: SimulatedServer) -> None:
    counted = one(server, "monState")["NumDeadlocks"]
    rows = list(rows_of(server, "monDeadLock"))
    assert max(row["DeadlockID"] for row in rows) == counted
    times = [row["ResolveTime"] for row in rows]
    assert times == sorted(times)
    assert times[-1] <= server.now()
    assert times[0] >= one(server, "simScenario")["StepStart"]


# Within a step, and into the next ones.
@pytest.mark.parametrize("seconds", [0.02, 300])
def test_an_event_does_not_change_later(server: SimulatedServer, seconds: float) -> None:
    def rows() -> dict[str, list[tuple[object, ...]]]:
        return {table: [tuple(row.values()) for row in rows_of(server, table)] for table in PIPES}

    earlier = rows()
    server.advance(seconds)
    later = rows()
    for table, before in earlier.items():
        after = later[table]
        assert set(before) & set(after), table
        assert after[: len(set(before) & set(after))] == [row for row in before if row in set(after)]


def test_a_restart_forgets_all_events_but_those_of_the_error_log(server: SimulatedServer) -> None:
    server.restart()
    for table in PIPES:
        assert list(rows_of(server, table)) == [] or table == "monErrorLog"
