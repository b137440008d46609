"""The whole chain in real time: simulator, exporter, Prometheus, Alertmanager, webhook.

Every step waits for an event, so a busy machine makes the test slower but does not make it fail. The case study's
figures are checked on simulated time, in tests/e2e/test_memscale.py.
"""

import asyncio
import importlib.resources
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import yaml
from tests.ports import free_block
from tests.programs import eventually
from tests.simulator.tds.running import running as serving
from tests.webhook import Webhook

from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.assets import load_yaml
from ase_exporter.compare.prometheus import Prometheus
from ase_simulator.demo.figures import THROUGHPUT, measured
from ase_simulator.demo.processes import HOST, Ports, Processes
from ase_simulator.demo.scaling import Pace
from ase_simulator.demo.stack import Stack
from ase_simulator.demo.webhook import Notification
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

# Of the shortened case study: a run takes 20 s.
REPLAY_PACE = Pace(speed=30.0, scrape_interval=1.0)
BASELINE = "series 2 run 05"
CACHE = "system tables cache"
TIMEOUT = 240.0

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Running:
    """The stack as the demo starts it, and the clients and receivers that observe it."""

    stack: Stack
    processes: Processes
    prometheus: Prometheus
    server: SimulatedServer
    webhook: Webhook


@contextmanager
def running(directory: Path, scenario: Path) -> Iterator[Running]:
    """Simulator, exporter, Prometheus and Alertmanager from here to the end of the block."""
    ports = Ports.from_base(free_block(len(Ports._fields)))
    (server,) = load_scenario(str(scenario), speed=REPLAY_PACE.speed)
    with Processes(directory) as processes:
        stack = Stack(processes, ports, REPLAY_PACE, directory)
        with (
            Webhook(ports.webhook) as webhook,
            serving(lambda: simulation(server, stack.logins, HOST, ports.simulator)),
            Prometheus(stack.url("prometheus")) as prometheus,
        ):
            asyncio.run(stack.start(asyncio.Event()))
            yield Running(stack, processes, prometheus, server, webhook)


def baseline_only(directory: Path) -> Path:
    """The memscale scenario with its contended baseline alone, which lasts for ever."""
    shipped = importlib.resources.files("ase_simulator") / "scenarios" / "memscale.yaml"
    scenario = load_yaml(shipped.read_text(encoding="utf-8"))
    steps = [step for step in scenario["steps"] if step["name"].startswith(BASELINE)]
    path = directory / "baseline.yaml"
    path.write_text(yaml.safe_dump(scenario | {"steps": steps, "repeat": False}))
    return path


def make_cache_lockless(stack: Running) -> None:
    """As an administrator does."""
    deadline = time.monotonic() + TIMEOUT
    server = Endpoint(HOST, stack.stack.ports.simulator)
    connection = Connection.open(server, "sa", stack.stack.password, deadline=deadline, program="test")
    connection.query(f"exec sp_cacheconfig '{CACHE}', 'lockless'", deadline)
    connection.close()


def heard(notifications: Sequence[Notification], status: str) -> list[Notification]:
    """The notifications of that status about contention."""
    return [each for each in notifications if (each.name, each.status) == ("AseSpinlockContention", status)]


def wait_for_first_sample(stack: Running) -> None:
    def sampled() -> bool:
        stack.processes.check()
        return bool(stack.prometheus.query("ase_up == 1"))

    eventually("a sample in Prometheus", sampled, TIMEOUT)


def assert_promtool_accepts(metrics: str) -> None:
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_contention_alerts_reach_the_webhook_and_resolve_once_the_cache_is_lockless(tmp_path: Path) -> None:
    directory = tmp_path / "stack"
    directory.mkdir()
    scenario = baseline_only(tmp_path)
    with running(directory, scenario) as stack:
        wait_for_first_sample(stack)
        assert stack.webhook.wait(lambda all_: bool(heard(all_, "firing")), timeout=TIMEOUT)
        assert stack.server.world.step.name.startswith(BASELINE)
        firing = heard(stack.webhook.notifications(), "firing")
        assert {each.labels["severity"] for each in firing} <= {"warning", "critical"}
        assert all(CACHE in each.annotations["summary"] for each in firing)
        assert not heard(stack.webhook.notifications(), "resolved")
        figures = measured(stack.prometheus, (time.time() - 10, time.time()))
        throughput = figures.pop(THROUGHPUT)
        assert throughput is not None and throughput > 0
        for percentage in figures.values():
            assert percentage is not None and 0 <= percentage <= 100
        response = httpx2.get(f"{stack.stack.url('exporter')}/probe?target=DEMO", trust_env=False, timeout=60)
        assert_promtool_accepts(response.text)

        make_cache_lockless(stack)
        assert stack.webhook.wait(lambda all_: bool(heard(all_, "resolved")), timeout=TIMEOUT)
        stack.processes.check()
