"""Shared by the end-to-end tests: free ports, and the whole stack as the demo starts it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from tests.ports import free_block

from ase_exporter.ase.connection import Endpoint
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.demo.ports import HOST, Ports
from ase_exporter.demo.processes import Processes
from ase_exporter.demo.scaling import Pace
from ase_exporter.demo.scenario import Scenario
from ase_exporter.demo.stack import LOGIN, Stack
from ase_exporter.demo.webhook import Webhook

# Of the shortened case study: a run takes 20 s.
REPLAY_PACE = Pace(speed=30.0, scrape_interval=1.0)


def free_ports() -> Ports:
    """A block of unused ports."""
    return Ports.from_base(free_block(len(fields(Ports))))


@dataclass(frozen=True)
class Running:
    """The stack, and the clients and receivers that observe it."""

    stack: Stack
    processes: Processes
    prometheus: Prometheus
    scenario: Scenario
    webhook: Webhook


@contextmanager
def running(directory: Path, pace: Pace, *simulator: str) -> Iterator[Running]:
    """Simulator, exporter, Prometheus and Alertmanager from here to the end of the block."""
    ports = free_ports()
    with Webhook(HOST, ports.webhook) as webhook, Processes(directory) as processes:
        stack = Stack(processes, ports, pace, directory, simulator)
        stack.start()
        prometheus = Prometheus(stack.url("prometheus"))
        server = Endpoint(HOST, ports.simulator)
        with Scenario(server, LOGIN, stack.password(), pace.speed) as scenario:
            yield Running(stack, processes, prometheus, scenario, webhook)
        prometheus.close()
