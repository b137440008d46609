"""A target whose scrapes end its worker, again and again, is paused: the worker's other targets pay each time."""

import asyncio
import os
import signal
import socket
import time
from dataclasses import replace

from tests.exporter.simulated import PASSWORD, run

from ase_exporter.ase.timing import TIMING
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.pool import WorkerPool


def test_a_target_that_ends_its_worker_again_and_again_is_paused_and_the_others_are_not() -> None:
    async def main(host: str, port: int, silent: int) -> None:
        config = Config(
            targets=(
                Target(name="GOOD", host=host, port=port),
                # Its scrape is in flight until its worker is killed.
                Target(name="BAD", host=host, port=silent),
            ),
            auth={"default": Auth(user="monitor", password=PASSWORD)},
            scrape=Scrape(connect_timeout=60.0, budget=None),
            workers=1,
        )
        pool = WorkerPool(Loaded.of(config), timing=replace(TIMING, restart_pause=0.0))
        await pool.start()

        async def good() -> bool:
            return (await pool.scrape("GOOD", time.monotonic() + 60)).summary.up

        try:
            for _ in range(2):
                assert await good()
                bad = asyncio.create_task(pool.scrape("BAD", time.monotonic() + 60))
                # It has reached the worker once a scrape that was asked for later is answered.
                await asyncio.sleep(0)
                assert await good()
                os.kill(pool.pids[0], signal.SIGKILL)
                assert "ended during the scrape" in (await bad).summary.error
            assert await good()
            (survivor,) = pool.pids
            paused = await pool.scrape("BAD", time.monotonic() + 60)
            assert not paused.summary.up
            assert paused.summary.error.startswith(
                "its scrapes ended a worker 2 times in a row; tried again in"
            )
            assert await good()
            assert pool.pids == [survivor]
        finally:
            await pool.stop()

    with run("16.0 SP04") as server, socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(main(*server.address, silent.getsockname()[1]))
