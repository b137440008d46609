"""The server as a whole, and the simulator's own view of its scenario."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.processes import process_snapshot
from ase_simulator.model.world import World

_DAY = 86400
_LOCK_WAIT_THRESHOLD = 5


def mon_state(world: World) -> Iterator[Row]:
    """One row for the server."""
    waits = [
        p for p in process_snapshot(world).processes if p.blocked_by and p.waiting_s >= _LOCK_WAIT_THRESHOLD
    ]
    snaps = world.count("procedures") if world.options.run("simplified native access plan") else 0
    yield {
        "LockWaitThreshold": _LOCK_WAIT_THRESHOLD,
        "LockWaits": len(waits),
        "DaysRunning": int((world.seconds - world.started) // _DAY),
        "Connections": world.workload.users + len(world.sessions.clients),
        "MaxRecovery": world.options.run("recovery interval in minutes"),
        "ULCFlushFull": world.int32(world.counters.flows["transaction"] * 0.02),
        "SnapsGenerated": min(snaps, 500),
        "SnapsExecuted": snaps,
        "StartDate": world.date(world.started),
        "CountersCleared": world.date(world.cleared),
    }


def mon_license(world: World) -> Iterator[Row]:
    """One licence of the simulated server."""
    yield {
        "Version": world.version.split()[0],
        "Status": "OK" if world.grace_ends is None else "graced",
        "GraceExpiry": None if world.grace_ends is None else world.date(world.grace_ends),
    }


def sim_scenario(world: World) -> Iterator[Row]:
    """One row: which step of its scenario the server is at. No ASE has this table."""
    yield {
        "Scenario": world.scenario,
        "Step": world.step.number,
        "StepName": world.step.name,
        "StepStart": world.date(world.step.at),
        "StepSeconds": int(world.step.seconds),
        "SecondsInStep": int(world.seconds - world.step.at),
    }


def sim_batch(world: World) -> Iterator[Row]:
    """The runs of the workload's batch, the present one last with EndTime NULL. No ASE has this table."""
    if world.workload.batch is None:
        return
    running = world.batches.running()
    for run in [*world.batches.finished, *([running] if running else [])]:
        yield {
            "BatchID": run.number,
            "StartTime": world.date(run.start),
            "EndTime": None if run.end is None else world.date(run.end),
            "ElapsedSeconds": (world.seconds if run.end is None else run.end) - run.start,
            "Transactions": int(run.transactions),
            "Status": "running" if run.end is None else "aborted" if run.aborted else "done",
        }


TABLES = {
    "monState": mon_state,
    "monLicense": mon_license,
    "simScenario": sim_scenario,
    "simBatch": sim_batch,
}
