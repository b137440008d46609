"""Listeners in a separate thread, so that tests can use blocking clients."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ase_simulator.server import Listener


@dataclass
class Running:
    """A listener and its event loop."""

    listener: Listener
    loop: asyncio.AbstractEventLoop

    @property
    def port(self) -> int:
        return self.listener.address[1]

    def ask(self, question: Callable[[], Any]) -> Any:
        """Call something on the listener's loop, awaiting what is awaitable."""

        async def answer() -> Any:
            result = question()
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(answer(), self.loop).result(60)


@contextmanager
def running(make: Callable[[], AbstractAsyncContextManager[Listener]]) -> Iterator[Running]:
    """Run the listener that what `make` returns enters; all of its connections end with it."""
    started: list[Running] = []
    ready = threading.Event()
    stop = asyncio.Event()

    async def serve() -> None:
        async with make() as listener:
            started.append(Running(listener, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield started[0]
    finally:
        started[0].loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()
