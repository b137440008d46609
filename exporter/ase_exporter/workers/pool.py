"""The worker pool in the web process: assigns targets to workers and replaces workers that die or hang.

All methods run on the event loop.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from ase_exporter.ase.login_ledger import LoginLedger, LoginQuestion, LoginReport
from ase_exporter.ase.timing import TIMING
from ase_exporter.backoff import Backoff
from ase_exporter.changes.journal import Journal
from ase_exporter.config import Target
from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.messages import (
    Admission,
    Assignment,
    Dismissal,
    Message,
    Ready,
    ScrapeReply,
    ScrapeRequest,
    Started,
)
from ase_exporter.workers.process import WorkerProcess, WorkerSlot, launch
from ase_exporter.workers.totals_register import TotalsRegister

log = logging.getLogger(__name__)

# Callers who ask for the same thing share one scrape. Too many different ones would delay all others.
MAX_IN_FLIGHT = 16


class WorkerGoneError(Exception):
    """The worker ended, or was killed, before it answered."""


class BusyError(Exception):
    """Too many different scrapes of one target at once."""


class WorkerPool:
    """Runs the workers of one configuration and sends each scrape to the worker that has the target."""

    def __init__(
        self,
        loaded: Loaded,
        journal: Journal | None = None,
        logins: LoginLedger | None = None,
        totals: TotalsRegister | None = None,
        halted: set[tuple[str, int]] | None = None,
    ) -> None:
        """journal: gets the configuration snapshots.

        logins, totals and halted (servers, by host and port, where sp_sysmon is not run again) outlive this pool: a
        reload hands them to the next.
        """
        self.config = config = loaded.config
        self.restarts = 0
        self.states = {target.name: TargetState() for target in config.targets}
        self._catalogue = loaded.catalogue
        self._journal = journal
        self._logins = logins or LoginLedger()
        self._totals = totals or TotalsRegister(None)
        self._halted = set() if halted is None else halted
        # Of targets whose scrapes end their worker: its other targets miss a scrape each time.
        self._crashes: Backoff[str, None] = Backoff(TIMING.crash_pause, TIMING.max_crash_pause)
        count = min(config.workers or len(os.sched_getaffinity(0)), len(config.targets))
        self._slots = [
            WorkerSlot({target.name: target for target in config.targets[start::count]})
            for start in range(count)
        ]
        self._slot_of = {name: slot for slot in self._slots for name in slot.targets}
        # Targets still being scraped by the previous pool.
        self._handovers: dict[str, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)
        # With the deadline of each.
        self._in_flight: dict[ScrapeRequest, tuple[asyncio.Task[ScrapeReply], float]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self) -> None:
        """Start all workers. Raises as `launch` does."""
        await self.launch()
        self._assign_all()

    async def launch(self) -> None:
        """Start the processes of all workers, without targets. Raises OSError or RuntimeError, and leaves none."""
        starts = map(self._launch, self._slots)
        failures = [each for each in await asyncio.gather(*starts, return_exceptions=True) if each]
        if failures:
            await self.stop()
            raise failures[0]

    async def take_over(self, old: "WorkerPool") -> None:
        """Scrape the targets from now on, after `launch`, in the place of the pool before.

        A target that the old pool is still scraping is taken over when that scrape ends, so that its server never
        sees two connections.
        """
        starts = [asyncio.wait_for(slot.started.wait(), TIMING.start_timeout) for slot in self._slots]
        await asyncio.gather(*starts, return_exceptions=True)
        self.states |= {name: old.states[name] for name in self.states.keys() & old.states.keys()}
        for name in self.states.keys() & {request.target for request in old._in_flight}:
            self._handovers[name] = asyncio.create_task(self._hand_over(name, old))
        self._assign_all()

    async def _hand_over(self, name: str, old: "WorkerPool") -> None:
        await old.settled(name)
        del self._handovers[name]
        slot = self._slot_of[name]
        slot.send(self._admission(slot.targets[name]))

    async def settled(self, target: str) -> None:
        """Wait until no scrape of a target is in flight."""
        while scrapes := [task for request, (task, _) in self._in_flight.items() if request.target == target]:
            await asyncio.wait(scrapes)

    async def retire(self) -> None:
        """Log out of each target when its last scrape has ended, then stop; at the latest after `drain_timeout`."""

        async def log_out(name: str) -> None:
            await self.settled(name)
            self._slot_of[name].send(Dismissal(name))

        try:
            async with asyncio.timeout(TIMING.drain_timeout):
                await asyncio.gather(*map(log_out, list(self._slot_of)))
        except TimeoutError:
            log.warning("scrapes that began before the reload are ended")
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End all workers; none is left behind."""
        self._stopping = True
        for task in (*self._background, *self._handovers.values()):
            task.cancel()
        running = [(slot, slot.worker) for slot in self._slots if slot.worker]
        for _, worker in running:
            worker.writer.close()
            # A login cut off by our own restart was probably fine; counting it as refused would suspend many targets.
            self._logins.abandon(worker, "not_refused")
            with contextlib.suppress(ProcessLookupError):
                worker.process.terminate()
        # Waited for together, so that workers that hang do not add up their timeouts.
        ends = [asyncio.create_task(worker.process.wait()) for _, worker in running]
        if ends:
            await asyncio.wait(ends, timeout=TIMING.stop_timeout)
        for (slot, worker), end in zip(running, ends, strict=True):
            worker.kill()
            await end
            if slot.receiving:
                slot.receiving.cancel()

    @property
    def size(self) -> int:
        """How many workers there should be."""
        return len(self._slots)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are running."""
        return [slot.worker.process.pid for slot in self._slots if slot.worker]

    @property
    def ready(self) -> int:
        """How many workers accept requests."""
        return sum(slot.ready.is_set() for slot in self._slots)

    @property
    def problem(self) -> str:
        """Why a worker does not accept requests, if that is not just a restart; '' if there is none."""
        return next(filter(None, (slot.problem(TIMING.start_timeout) for slot in self._slots)), "")

    async def scrape(self, request: ScrapeRequest) -> ScrapeReply:
        """Scrape a target; callers who ask for the same thing at the same time share one scrape.

        Answers at the latest Timing.silence after the deadline. Raises KeyError for an unknown target, BusyError if
        MAX_IN_FLIGHT different scrapes of it are in flight.
        """
        target = request.target
        slot = self._slot_of[target]
        running = self._in_flight.get(request)
        if running is None:
            if sum(other.target == target for other in self._in_flight) >= MAX_IN_FLIGHT:
                raise BusyError(f"target {target}: {MAX_IN_FLIGHT} different scrapes are under way")
            numbered = replace(request, number=next(self._numbers))
            scrape = asyncio.create_task(self._scrape(slot, numbered))
            running = self._in_flight[numbered] = scrape, request.deadline
            scrape.add_done_callback(lambda _: self._in_flight.pop(numbered, None))
        scrape, deadline = running
        # Who joins a scrape with a later deadline does not wait for that.
        own = request.deadline + TIMING.late_after if deadline > request.deadline else None
        try:
            async with asyncio.timeout(own and own - time.monotonic()):
                # A caller that disconnects must not cancel the scrape for the others.
                return await asyncio.shield(scrape)
        except TimeoutError:
            error = "a scrape that began before has not ended in time"
            return ScrapeReply(request.number, b"", ScrapeSummary(error=error))

    def _admission(self, target: Target) -> Admission:
        halted = (target.host, target.port) in self._halted
        return Admission(target, halted, self._totals.of(target.name))

    async def _scrape(self, slot: WorkerSlot, request: ScrapeRequest) -> ScrapeReply:
        try:
            reply = await self._request(slot, request)
        except WorkerGoneError as error:
            reply = ScrapeReply(request.number, b"", ScrapeSummary(error=str(error)))
        if not request.session_groups:
            self.states[request.target].update(reply.summary)
        if reply.summary.error and (saved := self._logins.saved):
            # A login that may have been refused is remembered, whatever happens once this is answered.
            timeout = request.deadline + TIMING.silence - time.monotonic()
            await asyncio.wait([asyncio.wrap_future(saved)], timeout=timeout)
        if reply.totals:
            await self._totals.keep(reply.totals)
        return reply

    async def _request(self, slot: WorkerSlot, request: ScrapeRequest) -> ScrapeReply:
        """Send a request to a worker and wait for its reply. Raises WorkerGoneError."""
        if pause := self._pause(request.target):
            raise WorkerGoneError(pause)
        if handover := self._handovers.get(request.target):
            await asyncio.wait([handover], timeout=request.deadline - time.monotonic())
            if not handover.done():
                raise WorkerGoneError("a scrape that began before the reload is still in progress")
        if not slot.ready.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(slot.ready.wait(), request.deadline - time.monotonic())
        worker = slot.worker
        if worker is None or not slot.ready.is_set():
            self._kill_if_it_does_not_start(worker)
            raise WorkerGoneError("the worker process is being started")
        answer: asyncio.Future[ScrapeReply] = asyncio.get_running_loop().create_future()
        worker.pending[request.number] = answer
        worker.scraping.add(request.target)
        try:
            worker.send(request)
            timeout = request.deadline + TIMING.silence - time.monotonic()
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            self._suspect(slot, worker)
            raise WorkerGoneError("the worker process did not answer in time") from None
        finally:
            worker.pending.pop(request.number, None)

    def _kill_if_it_does_not_start(self, worker: WorkerProcess | None) -> None:
        # A shorter timeout would kill the replacement of a slow worker as well, again and again.
        if worker and not worker.suspicion and time.monotonic() - worker.started > TIMING.start_timeout:
            self._replace(worker, "it does not start")

    def _suspect(self, slot: WorkerSlot, worker: WorkerProcess) -> None:
        """Kill a worker if it stays silent. New requests wait until it answers or is replaced."""
        if worker.suspicion is None and worker is slot.worker:
            slot.set_ready(False)
            worker.suspicion = asyncio.get_running_loop().call_later(
                TIMING.dead_after, self._replace, worker, "it does not answer"
            )

    def _replace(self, worker: WorkerProcess, reason: str) -> None:
        log.warning("worker %d is replaced: %s", worker.process.pid, reason)
        worker.kill()

    async def _launch(self, slot: WorkerSlot) -> None:
        """Start a worker, without its targets. Raises as `process.launch` does."""
        slot.worker = worker = await launch()
        slot.receiving = asyncio.create_task(self._receive(slot, worker))

    def _assign_all(self) -> None:
        for slot in self._slots:
            slot.send(self._assignment(slot))

    def _assignment(self, slot: WorkerSlot) -> Assignment:
        share = (target for target in slot.targets.values() if target.name not in self._handovers)
        return Assignment(self.config, self._catalogue, tuple(map(self._admission, share)), self._logins.salt)

    async def _receive(self, slot: WorkerSlot, worker: WorkerProcess) -> None:
        """Take all messages of a worker; replace it when it ends."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                self._take(slot, worker, await worker.receive())
        slot.set_ready(False)
        slot.worker = None
        await self._end(worker)
        if not self._stopping:
            self._run_in_background(self._restart(slot))

    def _take(self, slot: WorkerSlot, worker: WorkerProcess, message: Message) -> None:
        match message:
            case Started():
                slot.started.set()
            case Ready():
                slot.set_ready(True)
            case LoginQuestion():
                self._logins.ask(message, worker.send, worker)
            case LoginReport():
                self._logins.note(message)
            case ScrapeReply():
                if worker.suspicion:
                    worker.suspicion.cancel()
                    worker.suspicion = None
                    slot.set_ready(True)
                self._take_reply(worker, message)

    def _take_reply(self, worker: WorkerProcess, reply: ScrapeReply) -> None:
        """Pass a reply to its caller, and keep what it says beyond that, even if nobody waits for it any more."""
        if self._journal and reply.config_snapshot:
            self._journal.on_snapshot(reply.target, reply.config_snapshot)
        if reply.sysmon_halted and (slot := self._slot_of.get(reply.target)):
            target = slot.targets[reply.target]
            self._halted.add((target.host, target.port))
        if reply.ended:
            worker.scraping.discard(reply.target)
            self._crashes.clear(reply.target)
        answer = worker.pending.get(reply.number)
        if answer and not answer.done():
            answer.set_result(reply)
        elif reply.totals:
            self._run_in_background(self._totals.keep(reply.totals))

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _end(self, worker: WorkerProcess) -> None:
        """Fail the requests of a worker that has closed its socket, and wait for its exit."""
        if worker.suspicion:
            worker.suspicion.cancel()
        worker.writer.close()
        self._logins.abandon(worker, "unknown")
        for answer in worker.pending.values():
            if not answer.done():
                answer.set_exception(WorkerGoneError("the worker process ended during the scrape"))
        status = await worker.process.wait()
        if not self._stopping:
            log.warning("worker %d ended with status %d; starting another", worker.process.pid, status)
            # All of them, as nobody knows which one ended it. The first time may be an accident.
            for target in worker.scraping:
                if self._crashes.note(target, None, time.monotonic(), accident=True):
                    log.warning("target %s: %s", target, self._pause(target))

    def _pause(self, target: str) -> str:
        """Why the target must not be scraped now; '' if it may be."""
        if not (left := self._crashes.seconds_left(target, time.monotonic())):
            return ""
        times = self._crashes.times(target)
        return f"its scrapes ended a worker {times} times in a row; tried again in {left:.0f} s"

    async def _restart(self, slot: WorkerSlot) -> None:
        """Start a worker again, with pauses that grow, until it can be started."""
        self.restarts += 1
        while True:
            pause = TIMING.restart_pause * 2 ** min(slot.starts, 20)
            await asyncio.sleep(min(pause, TIMING.max_restart_pause))
            slot.starts += 1
            try:
                await self._launch(slot)
            except (OSError, RuntimeError) as error:
                # Out of processes, descriptors, memory or threads.
                reason = getattr(error, "strerror", None) or str(error)
                if not slot.error:
                    log.error("a worker cannot be started: %s; trying again", reason)
                slot.error = reason
            else:
                slot.error = ""
                slot.send(self._assignment(slot))
                return
