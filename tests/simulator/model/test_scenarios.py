"""Scenario files: the built-in ones load and play; an invalid one is reported in one line."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.simulator.model.worlds import one, rows_of, total

from ase_exporter.assets import load_yaml
from ase_simulator.model import ScenarioError, SimulatedServer, load_scenario
from ase_simulator.model.scenario import names

MISTAKES = load_yaml(Path(__file__).with_name("mistakes.yaml").read_text())


def _write(folder: Path, text: str) -> str:
    path = folder / "scenario.yaml"
    path.write_text(text)
    return str(path)


def _at(server: SimulatedServer, step: str) -> None:
    """Move on to the start of the next step whose name begins with that."""
    for _ in range(200):
        if str(one(server, "simScenario")["StepName"]).startswith(step):
            return
        server.advance(10)
    raise AssertionError(f"no step {step}")


def test_all_scenarios_are_there() -> None:
    assert {"memscale", "vldb", "idle", "quiet-oltp", "storm", "failures", "fleet"} <= set(names())


@pytest.mark.parametrize(
    "version",
    [
        "12.5.4",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("15.0.3", "15.7 SP138", "16.0 SP04")),
    ],
)
def test_every_scenario_runs_as_every_version(version: str) -> None:
    for name in names():
        for server in load_scenario(name, speed=0, version=version):
            server.advance(1000)
            assert server.version == version
            assert total(server, "monEngine", "CPUTime") > 0


@pytest.mark.parametrize(("told", "content"), MISTAKES.items())
def test_a_bad_scenario_is_reported_in_one_line_with_its_place(
    tmp_path: Path, told: str, content: object
) -> None:
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    with pytest.raises(ScenarioError) as refused:
        load_scenario(_write(tmp_path, text), speed=0)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_that_is_neither_scenario_nor_file_lists_the_scenarios() -> None:
    with pytest.raises(ScenarioError, match="quiet-oltp"):
        load_scenario("nothing-like-it")


def test_a_fleet_has_servers_of_different_names_versions_and_loads() -> None:
    servers = load_scenario("fleet", speed=0)
    assert len({server.name for server in servers}) == len(servers) == 12
    assert len({server.version for server in servers}) > 2
    orders = [server for server in servers if server.name.startswith("ORDERS0")]
    for server in orders:
        server.advance(100)
    grabs = {total(server, "monSpinlockActivity", "Waits") for server in orders}
    assert len(grabs) == len(orders)


def test_a_repeating_scenario_begins_again_and_another_stays_at_its_end(tmp_path: Path) -> None:
    steps = "steps: [{name: a, seconds: 10}, {name: b, seconds: 10}]\n"
    [again] = load_scenario(_write(tmp_path, f"name: x\nrepeat: true\n{steps}"), speed=0)
    again.advance(25)
    assert one(again, "simScenario")["StepName"] == "a"
    assert one(again, "simScenario")["SecondsInStep"] == 5
    [stays] = load_scenario(_write(tmp_path, f"name: x\n{steps}"), speed=0)
    stays.advance(100)
    assert one(stays, "simScenario")["StepName"] == "b"


def test_operations_fill_space_end_an_agent_and_a_licence_and_are_repaired() -> None:
    [server] = load_scenario("operations", speed=0)

    def free_share_of_log() -> float:
        [log] = [row for row in rows_of(server, "sysusages") if row["segmap"] == 4 and row["dbid"] == 4]
        return float(log["unreservedpgs"] / log["size"])

    def last_log_dump() -> object:
        return next(
            row["LastTranLogDumpTime"]
            for row in rows_of(server, "monOpenDatabases")
            if row["DBName"] == "orders"
        )

    assert one(server, "monRepSenders")
    dumped = last_log_dump()
    assert dumped is not None
    server.advance(600 + 2100)
    assert free_share_of_log() == pytest.approx(1 - (0.60 + 0.97) / 2, abs=0.001)
    assert [len(rows_of(server, table)) for table in ("monRepSenders", "monEngine")] == [0, 3]
    assert one(server, "monLicense")["GraceExpiry"] is not None
    assert last_log_dump() == dumped
    server.advance(2101)
    assert free_share_of_log() == pytest.approx(0.95, abs=0.001)
    assert one(server, "monRepSenders")
    assert one(server, "monLicense")["GraceExpiry"] is None
    assert last_log_dump() != dumped
    server.restart()
    assert last_log_dump() is None


# Step of `failures` -> what holds during it; each of them is over in the step after it.
FAULTS: dict[str, Callable[[SimulatedServer], bool]] = {
    "hang": lambda server: server.faults.hang,
    "one table": lambda server: (
        server.faults.strikes("select * from monSpinlockActivity") and not server.faults.strikes("select 1")
    ),
    "slow": lambda server: server.faults.seconds_per_row > 0,
    "mute": lambda server: server.faults.mute,
    "broken off": lambda server: bool(server.faults.broken and server.faults.broken.how == "reset"),
    "login locked": lambda server: "ase_exporter" in server.locked_logins,
    "LOAD DATABASE": lambda server: (
        {row["name"] for row in rows_of(server, "sysdatabases") if row["status"] & 32} == {"archive"}
    ),
    "shutdown": lambda server: not server.running and server.faults.refuse,
}


def test_failures_switch_each_fault_on_and_off_again() -> None:
    [server] = load_scenario("failures", speed=0)
    drops = []
    server.on_drop(lambda: drops.append(one(server, "simScenario")["StepName"]))
    for step, holds in FAULTS.items():
        _at(server, step)
        assert holds(server), step
        begun = one(server, "simScenario")["StepName"]
        while one(server, "simScenario")["StepName"] == begun:
            server.advance(10)
        assert not holds(server), step
    assert server.running and not server.faults.refuse
    assert len(drops) >= 8


def test_wrap_soon_takes_int_counters_past_their_end_within_half_a_minute() -> None:
    [server] = load_scenario("failures", speed=0)
    _at(server, "wrap soon")
    start = one(server, "simScenario")["SecondsInStep"]
    before = one(server, "monState")["Transactions"]
    assert before > 2**31 - 40_000
    server.advance(40 - start)
    after = one(server, "monState")["Transactions"]
    assert after < 0
    assert 0 < (after - before) % 2**32 < 40_000


def test_int_counters_of_other_scenarios_wrap_to_zero(tmp_path: Path) -> None:
    text = "name: x\nwrap_in: 5\nworkload: {users: 50, think_ms: 10}\n"
    [server] = load_scenario(_write(tmp_path, text), speed=0)
    before = one(server, "monState")["Transactions"]
    server.advance(10)
    after = one(server, "monState")["Transactions"]
    assert before > 2**31 - 10**6
    assert 0 <= after < 10**6


def test_a_clear_step_moves_the_date_of_the_last_clear() -> None:
    [server] = load_scenario("failures", speed=0)
    _at(server, "restart")
    before = one(server, "monState")["CountersCleared"]
    _at(server, "clear")
    assert one(server, "monState")["CountersCleared"] > before


def test_steps_begin_on_time_without_requests() -> None:
    async def scene() -> bool:
        [server] = load_scenario("failures", speed=0)
        playing = asyncio.create_task(server.play())
        await asyncio.sleep(0)
        dropped = asyncio.Event()
        server.on_drop(dropped.set)
        server.world.clock.advance(300)
        await asyncio.wait_for(dropped.wait(), 60)
        playing.cancel()
        return server.faults.mute

    assert asyncio.run(scene())


@pytest.mark.parametrize("column", ["monDeviceIO.ReadTime", "monDeviceIO.IOTime", "monIOQueue.IOTime"])
def test_the_time_of_disk_io_grows_by_what_each_request_took_when_it_was_made(
    tmp_path: Path, column: str
) -> None:
    [server] = load_scenario(
        _write(
            tmp_path,
            """
name: x
workload:
  {users: 20, read_ms: 0.5, databases: [{name: shop, data_mb: 9000, log_mb: 100}],
   objects: [{database: shop, name: t, reads: 1, size_mb: 4000, cold: 0.5}]}
steps: [{name: fast, seconds: 1000}, {name: slow, seconds: 1000, workload: {read_ms: 48}}]
""",
        ),
        speed=0,
    )

    def grown(seconds: float) -> tuple[float, float]:
        """Milliseconds, and reads and writes."""
        before = spent(), requests()
        server.advance(seconds)
        return spent() - before[0], requests() - before[1]

    def spent() -> float:
        return total(server, *column.split("."))

    def requests() -> float:
        return sum(total(server, "monDeviceIO", each) for each in ("Reads", "APFReads", "Writes"))

    milliseconds, made = grown(999)
    assert 0 < milliseconds < made
    milliseconds, made = grown(2)
    assert 0 < milliseconds <= 48 * made
    milliseconds, made = grown(100)
    assert milliseconds == pytest.approx(48 * made, rel=0.01)
