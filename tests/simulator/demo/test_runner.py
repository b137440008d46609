"""The demo's replay, around a stack of no processes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.ports import free_block

from ase_exporter.compare.prometheus import Prometheus
from ase_simulator.demo import runner
from ase_simulator.demo.stack import Stack
from ase_simulator.model import SimulatedServer


def test_the_first_run_begins_once_prometheus_has_scraped_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[SimulatedServer] = []
    while_starting: list[float] = []
    ends: list[Callable[[], object]] = []

    @asynccontextmanager
    async def simulation(server: SimulatedServer, *_: object) -> AsyncIterator[None]:
        replayed.append(server)
        yield

    async def start(stack: Stack, stop: asyncio.Event) -> None:
        await asyncio.sleep(0.01)
        while_starting.append(replayed[0].world.clock.seconds())
        ends.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))

    def query(*_: object) -> list[object]:
        while_starting.append(replayed[0].world.clock.seconds())
        if len(while_starting) < 3:
            return []
        ends[0]()
        return [1.0]

    monkeypatch.setattr(runner, "simulation", simulation)
    monkeypatch.setattr(Stack, "start", start)
    monkeypatch.setattr(Prometheus, "query", query)
    asyncio.run(runner.run_demo(None, free_block(7), tmp_path))
    assert while_starting == [0, 0, 0]
    clock = replayed[0].world.clock
    assert clock.speed == runner.choose_pace(None, 10).speed and clock.seconds() > 0
