"""Wait events, and how the waits of an operating point are divided over them."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ase_simulator.yaml_text import load_yaml


@dataclass(frozen=True, slots=True)
class Event:
    """One wait event. share, waits: of a transaction's waits; per_second, tasks: of the server's own."""

    id: int
    wait_class: int
    description: str
    share: float = 0.0
    waits: float = 0.0
    per_second: float = 0.0
    tasks: float = 0.0


@cache
def classes() -> dict[int, str]:
    """Wait class id -> description."""
    return dict(_data()["classes"])


@cache
def events() -> tuple[Event, ...]:
    """All events by id, as waits.yaml lists them."""
    data = _data()
    found = []
    for number, (wait_class, description) in data["events"].items():
        share, waits = data["transaction"].get(number, (0.0, 0.0))
        per_second, tasks = data["housekeeping"].get(number, (0.0, 0.0))
        found.append(Event(number, wait_class, description, share, waits, per_second, tasks))
    return tuple(found)


def _data() -> dict[str, Any]:
    text = resources.files("ase_simulator.model").joinpath("waits.yaml").read_text("utf-8")
    data: dict[str, Any] = load_yaml(text)
    return data


def wait_flows(
    throughput: float, think_s: float, wait_s: float, read_s: float, run_queue: float, flows: dict[str, float]
) -> dict[str, float]:
    """Per second, under the keys `waits <event>` and `wait seconds <event>`.

    throughput: transactions per second; think_s, wait_s: seconds of each; read_s: seconds per disk read.
    run_queue: tasks that wait for an engine. flows: rates of the drivers.
    """
    found: dict[str, float] = {}
    for event in events():
        waits = throughput * event.waits + event.per_second
        seconds = throughput * wait_s * event.share + event.tasks
        if event.waits or event.per_second:
            found[f"waits {event.id}"], found[f"wait seconds {event.id}"] = waits, seconds
    found["waits 250"], found["wait seconds 250"] = flows["packets_received"], throughput * think_s
    found["waits 251"], found["wait seconds 251"] = flows["packets_sent"] * 0.01, flows["packets_sent"] * 1e-5
    found["waits 215"], found["wait seconds 215"] = flows["switches"] * 0.95, run_queue * 0.95
    found["waits 214"], found["wait seconds 214"] = flows["switches"] * 0.05, run_queue * 0.05
    found["waits 29"] = flows["physical_reads"]
    found["wait seconds 29"] = flows["physical_reads"] * read_s
    found["waits 150"] = flows["lock_waits"]
    return found
