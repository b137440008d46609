"""Waits of the server and the names of their events."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model import waits
from ase_simulator.model.world import World


def mon_sys_waits(world: World) -> Iterator[Row]:
    """One row per event that has happened; WaitTime in seconds."""
    flows = world.counters.flows
    for event in waits.events():
        count = flows.get(f"waits {event.id}", 0.0)
        if count >= 1:
            yield {
                "WaitEventID": event.id,
                "WaitTime": world.int32(flows[f"wait seconds {event.id}"]),
                "Waits": world.int32(count),
            }


def mon_wait_event_info(_: World) -> Iterator[Row]:
    """Every event with its class."""
    for event in waits.events():
        yield {
            "WaitEventID": event.id,
            "WaitClassID": event.wait_class,
            "Description": event.description,
        }


def mon_wait_class_info(_: World) -> Iterator[Row]:
    """Every class."""
    for number, description in waits.classes().items():
        yield {"WaitClassID": number, "Description": description, "Language": "en_US"}


def mon_sys_execution_time(world: World) -> Iterator[Row]:
    """Time by kind of work in microseconds; the engines' own time is divided, waits are added."""
    flows = world.counters.flows
    busy = sum(float(world.counters.engines[kind].sum()) for kind in ("user", "system"))
    network = flows["packets_sent"] + flows["packets_received"]
    rows = (
        ("Unknown", busy * 0.15, 0.0),
        ("Execution", busy * 0.70, flows["statements"] * 1.2),
        ("Sorting", busy * 0.001, flows["work_tables"]),
        ("Compilation", busy * 0.06, flows["compiles"] + flows["cached_statements"]),
        ("NetworkIO", busy * 0.08, network),
        ("DeviceIO", flows["disk_ios"] * 0.002, flows["disk_ios"]),
    )
    for number, (name, seconds, count) in enumerate(rows):
        yield {
            "OperationID": number,
            "OperationName": name,
            "ExecutionTime": int(seconds * 1e6),
            "ExecutionCnt": int(count),
        }


TABLES = {
    "monSysWaits": mon_sys_waits,
    "monWaitEventInfo": mon_wait_event_info,
    "monWaitClassInfo": mon_wait_class_info,
    "monSysExecutionTime": mon_sys_execution_time,
}
