"""The demo's replay, around a stack of no processes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.ports import free_block

from ase_simulator.demo import runner
from ase_simulator.demo.stack import Stack
from ase_simulator.model import SimulatedServer


def test_the_first_run_begins_once_all_processes_are_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[SimulatedServer] = []
    while_starting: list[float] = []

    @asynccontextmanager
    async def simulation(server: SimulatedServer, *_: object) -> AsyncIterator[None]:
        replayed.append(server)
        yield

    async def start(stack: Stack, stop: asyncio.Event) -> None:
        await asyncio.sleep(0.01)
        while_starting.append(replayed[0].world.clock.seconds())
        stop.set()

    monkeypatch.setattr(runner, "simulation", simulation)
    monkeypatch.setattr(Stack, "start", start)
    asyncio.run(runner.run_demo(None, free_block(7), tmp_path))
    assert while_starting == [0]
    clock = replayed[0].world.clock
    assert clock.speed == runner.choose_pace(None, 10).speed and clock.seconds() > 0
