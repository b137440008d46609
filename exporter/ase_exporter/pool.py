"""The front's side of the workers: who serves which target, and what happens when a worker dies.

All methods run on the event loop.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ase_exporter import logs
from ase_exporter.changes.journal import Journal
from ase_exporter.channel import Channel
from ase_exporter.config import Target
from ase_exporter.families import Family
from ase_exporter.ipc import (
    Admission,
    Assignment,
    Dismissal,
    Message,
    Ready,
    ScrapeReply,
    ScrapeRequest,
)
from ase_exporter.loading import Loaded
from ase_exporter.refusal import Refusals

log = logging.getLogger(__name__)

# A worker answers at the deadline by itself; after this much longer its caller is answered here.
SILENCE = 0.5
# A worker that then says nothing at all, to no caller, for so long is dead or stopped, not just short of CPU.
DEAD_AFTER = 4.0
# A worker that dies at once is not started in a tight loop.
RESTART_PAUSE = 0.5
# A busy machine may take many seconds to start a worker; one that takes longer than this does not come.
START_TIMEOUT = 60.0
STOP_TIMEOUT = 2.0
# A large answer is to leave a worker at once, as far as the kernel allows, in bytes: for each piece that the front
# takes, both would be woken.
ANSWER = 1 << 20
# Those who ask for the same share a flight; who asks for ever other things would queue up in front of the rest.
MOST_FLIGHTS = 16

# Target, collectors, OpenMetrics, compressed, module.
_Flight = tuple[str, frozenset[str] | None, bool, bool, str]


class WorkerGoneError(Exception):
    """The worker ended, or was ended, before it answered."""


class BusyError(Exception):
    """Too many different scrapes of one target at once."""


@dataclass(slots=True)
class TargetState:
    """What the front knows of a target from its last scrape, for the landing page."""

    up: bool | None = None
    error: str = ""
    version: str = ""
    series: int = 0
    stretched: int = 0
    at: float | None = None


@dataclass(slots=True)
class _Worker:
    process: asyncio.subprocess.Process
    channel: Channel
    reading: asyncio.Task[None]
    started: float = field(default_factory=time.monotonic)
    pending: dict[int, asyncio.Future[ScrapeReply]] = field(default_factory=dict)
    suspicion: asyncio.TimerHandle | None = None


class WorkerPool:
    """Runs the workers of one configuration and sends each scrape to the one that has the target.

    journal: gets the looks that the workers take, and adds to each scrape what it knows of the target.
    """

    def __init__(
        self,
        loaded: Loaded,
        journal: Journal | None = None,
        known: Callable[[str], Sequence[Family]] = lambda target: (),
    ) -> None:
        """known: what the front itself has to say of a target, added to its scrape."""
        self.config = config = loaded.config
        self._catalogue = loaded.catalogue
        self._known = known
        self._journal = journal
        self.restarts = 0
        self.states = {target.name: TargetState() for target in config.targets}
        most = len(config.targets) + (config.allow.most if config.allow.addresses else 0)
        count = min(config.workers or len(os.sched_getaffinity(0)), most)
        self._shares = [config.targets[start::count] for start in range(count)]
        self._share_of = {target.name: index for index, share in enumerate(self._shares) for target in share}
        self._refusals: dict[str, Refusals] = {}
        self._guests: dict[str, asyncio.TimerHandle] = {}
        self._workers: list[_Worker | None] = [None] * count
        self._ready = [asyncio.Event() for _ in range(count)]
        self._numbers = itertools.count(1)
        self._flights: dict[_Flight, asyncio.Task[ScrapeReply]] = {}
        self._restarts: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self) -> None:
        """Start all workers."""
        await asyncio.gather(*(self._start(index) for index in range(len(self._shares))))

    async def stop(self) -> None:
        """End all workers; none is left behind."""
        self._stopping = True
        for task in self._restarts:
            task.cancel()
        for timer in self._guests.values():
            timer.cancel()
        workers = [worker for worker in self._workers if worker]
        for worker in workers:
            worker.channel.close()
            with contextlib.suppress(ProcessLookupError):
                worker.process.terminate()
        # All together: those that stand still must not each take their time.
        ends = [asyncio.create_task(worker.process.wait()) for worker in workers]
        if ends:
            await asyncio.wait(ends, timeout=STOP_TIMEOUT)
        for worker, end in zip(workers, ends, strict=True):
            with contextlib.suppress(ProcessLookupError):
                worker.process.kill()
            await end
            worker.reading.cancel()

    @property
    def guests(self) -> int:
        """How many targets are served that are not configured."""
        return len(self._guests)

    def admit(self, target: Target) -> None:
        """Serve a target that is not configured, until nobody has asked for it for long. BusyError if there
        are as many as may be."""
        if target.name in self._share_of:
            return
        if len(self._guests) >= self.config.allow.most:
            raise BusyError(
                f"allow.most: {len(self._guests)} servers that are not configured are served already"
            )
        index = min(range(len(self._shares)), key=lambda index: len(self._shares[index]))
        self._shares[index] += (target,)
        self._share_of[target.name] = index
        self.states[target.name] = TargetState()
        self._tell(index, Admission(target, self._refusals.get(target.name, Refusals())))
        self._expect(target.name)

    def _expect(self, guest: str) -> None:
        """Let a target that is not configured go when nobody asks for it from now on."""
        if guest in self._guests:
            self._guests[guest].cancel()
        loop = asyncio.get_running_loop()
        self._guests[guest] = loop.call_later(self.config.allow.idle, self._dismiss, guest)

    def _dismiss(self, guest: str) -> None:
        if any(key[0] == guest for key in self._flights):
            self._expect(guest)
            return
        index = self._share_of.pop(guest)
        self._shares[index] = tuple(target for target in self._shares[index] if target.name != guest)
        del self._guests[guest], self.states[guest]
        self._tell(index, Dismissal(guest))

    def _tell(self, index: int, message: Message) -> None:
        # A worker that is just being started hears of its targets then.
        if worker := self._workers[index]:
            worker.channel.send(message)

    @property
    def size(self) -> int:
        """How many workers there are to be."""
        return len(self._shares)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        return [worker.process.pid for worker in self._workers if worker]

    async def scrape(
        self,
        target: str,
        deadline: float,
        *,
        collectors: frozenset[str] | None = None,
        openmetrics: bool = False,
        compress: bool = False,
        module: str = "",
    ) -> ScrapeReply:
        """Scrape a target; callers who ask for the same thing at the same time share one collection.

        deadline: time.monotonic(). Always answers, at the latest SILENCE after the deadline. KeyError if the
        target is unknown; BusyError if MOST_FLIGHTS different things are being asked of it.
        """
        index = self._share_of[target]
        if target in self._guests:
            self._expect(target)
        key = (target, collectors, openmetrics, compress, module)
        flight = self._flights.get(key)
        if flight is None:
            if sum(key[0] == target for key in self._flights) >= MOST_FLIGHTS:
                raise BusyError(f"target {target}: {MOST_FLIGHTS} different scrapes are under way")
            number = next(self._numbers)
            known = tuple(self._known(target))
            request = ScrapeRequest(
                number, target, deadline, collectors, openmetrics, compress, known, module
            )
            flight = asyncio.create_task(self._scrape(index, request))
            self._flights[key] = flight
            flight.add_done_callback(lambda _: self._flights.pop(key, None))
        # A caller that leaves must not end the flight for the others.
        return await asyncio.shield(flight)

    async def _scrape(self, index: int, request: ScrapeRequest) -> ScrapeReply:
        target = request.target
        try:
            reply = await self._ask(index, request)
        except WorkerGoneError as error:
            reply = ScrapeReply(request.number, b"", up=False, error=str(error))
        if self._journal and reply.look:
            self._journal.on_look(target, reply.look)
        state = self.states[target]
        state.up, state.error, state.series, state.at = reply.up, reply.error, reply.series, time.time()
        state.version = reply.version or state.version
        state.stretched = reply.stretched
        if reply.refusals:
            self._refusals[target] = reply.refusals
        return reply

    async def _ask(self, index: int, request: ScrapeRequest) -> ScrapeReply:
        if not self._ready[index].is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ready[index].wait(), request.deadline - time.monotonic())
        worker = self._workers[index]
        if worker is None or not self._ready[index].is_set():
            # Who ended a worker for being slow to start would have to end the next one too.
            if worker and not worker.suspicion and time.monotonic() - worker.started > START_TIMEOUT:
                self._kill(worker, "it does not start")
            raise WorkerGoneError("the worker process is being started")
        answer: asyncio.Future[ScrapeReply] = asyncio.get_running_loop().create_future()
        worker.pending[request.number] = answer
        try:
            worker.channel.send(request)
            return await asyncio.wait_for(answer, request.deadline + SILENCE - time.monotonic())
        except TimeoutError:
            self._suspect(index, worker)
            raise WorkerGoneError("the worker process did not answer in time") from None
        finally:
            worker.pending.pop(request.number, None)

    def _suspect(self, index: int, worker: _Worker) -> None:
        # Whoever comes now waits until the worker speaks, or for the next one.
        if worker.suspicion is None and worker is self._workers[index]:
            self._ready[index].clear()
            worker.suspicion = asyncio.get_running_loop().call_later(
                DEAD_AFTER, self._kill, worker, "it does not answer"
            )

    def _clear_suspicion(self, index: int, worker: _Worker) -> None:
        if worker.suspicion:
            worker.suspicion.cancel()
            worker.suspicion = None
            self._ready[index].set()

    def _kill(self, worker: _Worker, reason: str) -> None:
        log.warning("worker %d is replaced: %s", worker.process.pid, reason)
        with contextlib.suppress(ProcessLookupError):
            worker.process.kill()

    async def _start(self, index: int) -> None:
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ANSWER)
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "ase_exporter.worker",
                str(theirs.fileno()),
                *logs.settings(),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
            )
        _, channel = await asyncio.get_running_loop().create_connection(Channel, sock=ours)
        reading = asyncio.create_task(self._read(index, channel))
        self._workers[index] = _Worker(process, channel, reading)
        channel.send(Assignment(self.config, self._catalogue, self._shares[index], self._refusals))

    async def _read(self, index: int, channel: Channel) -> None:
        """Hand replies to those who wait; when the worker ends, start another."""
        with contextlib.suppress(EOFError):
            while True:
                message = await channel.receive()
                worker = self._workers[index]
                if isinstance(message, Ready):
                    self._ready[index].set()
                elif isinstance(message, ScrapeReply) and worker:
                    self._clear_suspicion(index, worker)
                    answer = worker.pending.get(message.number)
                    if answer and not answer.done():
                        answer.set_result(message)
        self._ready[index].clear()
        worker, self._workers[index] = self._workers[index], None
        if worker:
            if worker.suspicion:
                worker.suspicion.cancel()
            worker.channel.close()
            for answer in worker.pending.values():
                if not answer.done():
                    answer.set_exception(WorkerGoneError("the worker process ended during the scrape"))
            code = await worker.process.wait()
            if not self._stopping:
                log.warning("worker %d ended with status %d; starting another", worker.process.pid, code)
        if not self._stopping:
            task = asyncio.create_task(self._restart(index))
            self._restarts.add(task)
            task.add_done_callback(self._restarts.discard)

    async def _restart(self, index: int) -> None:
        self.restarts += 1
        await asyncio.sleep(RESTART_PAUSE)
        await self._start(index)
