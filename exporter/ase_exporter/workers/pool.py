"""The worker pool in the web process: assigns targets to workers and replaces workers that die or hang.

All methods run on the event loop.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence

from ase_exporter.ase.login_ledger import LoginLedger, LoginQuestion, LoginReport, Permit
from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.backoff import Backoff
from ase_exporter.changes.journal import Journal
from ase_exporter.config import Target
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.summary import ScrapeSummary
from ase_exporter.workers.channel import Channel
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.messages import (
    Admission,
    Assignment,
    Dismissal,
    LoginPermit,
    Message,
    Ready,
    ScrapeReply,
    ScrapeRequest,
    Started,
)
from ase_exporter.workers.process import Outage, WorkerProcess, launch
from ase_exporter.workers.target_state import TargetState
from ase_exporter.workers.totals_register import TotalsRegister

log = logging.getLogger(__name__)

# Callers who ask for the same thing share one scrape. Too many different ones would delay all others.
MAX_IN_FLIGHT = 16

# Target, collectors, OpenMetrics, with the start of counters, compressed, module.
_ScrapeKey = tuple[str, frozenset[str] | None, bool, bool, bool, str]


class WorkerGoneError(Exception):
    """The worker ended, or was killed, before it answered."""


class BusyError(Exception):
    """Too many different scrapes of one target, or too many allowlisted targets, at once."""


class WorkerPool:
    """Runs the workers of one configuration and sends each scrape to the worker that has the target."""

    def __init__(
        self,
        loaded: Loaded,
        journal: Journal | None = None,
        known: Callable[[str], Sequence[Family]] = lambda target: (),
        timing: Timing = TIMING,
        logins: LoginLedger | None = None,
        totals: TotalsRegister | None = None,
        halted: set[tuple[str, int]] | None = None,
    ) -> None:
        """journal: gets the configuration snapshots. known: families that the web process adds to a target.

        logins, totals and halted (servers, by host and port, where sp_sysmon is not run again) outlive this pool: a
        reload hands them to the next.
        """
        self.config = config = loaded.config
        self.restarts = 0
        self.states = {target.name: TargetState() for target in config.targets}
        self._catalogue = loaded.catalogue
        self._known = known
        self._journal = journal
        self._timing = timing
        # Of targets whose scrapes end their worker: its other targets miss a scrape each time.
        self._crashes: Backoff[str, None] = Backoff(timing.crash_pause, timing.max_crash_pause)
        allowlist = config.probe_allowlist
        max_targets = len(config.targets) + (allowlist.max_targets if allowlist.addresses else 0)
        count = min(config.workers or len(os.sched_getaffinity(0)), max_targets)
        self._shares = [config.targets[start::count] for start in range(count)]
        self._share_of = {target.name: index for index, share in enumerate(self._shares) for target in share}
        self._logins = logins or LoginLedger(timing=timing)
        self._halted = set() if halted is None else halted
        self._totals = totals or TotalsRegister(None)
        self._keeping: set[asyncio.Task[None]] = set()
        # Targets still being scraped by the previous pool.
        self._handovers: dict[str, asyncio.Task[None]] = {}
        # Targets on the probe allowlist, and the timers that dismiss them.
        self._allowlisted: dict[str, Target] = {}
        self._idle_timers: dict[str, asyncio.TimerHandle] = {}
        self._workers: list[WorkerProcess | None] = [None] * count
        self._started = [asyncio.Event() for _ in range(count)]
        self._ready = [asyncio.Event() for _ in range(count)]
        self._outages: list[Outage | None] = [Outage() for _ in range(count)]
        self._numbers = itertools.count(1)
        self._in_flight: dict[_ScrapeKey, asyncio.Task[ScrapeReply]] = {}
        self._restarting: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self) -> None:
        """Start all workers. Raises as `launch` does."""
        await self.launch()
        self._assign_all()

    async def launch(self) -> None:
        """Start the processes of all workers, without their targets.

        Raises OSError or RuntimeError if that is not possible; then none is left.
        """
        starts = (self._launch(index) for index in range(len(self._shares)))
        failures = [each for each in await asyncio.gather(*starts, return_exceptions=True) if each]
        if failures:
            await self.stop()
            raise failures[0]

    async def take_over(self, old: "WorkerPool") -> None:
        """Scrape the targets from now on, after `launch`, in the place of the pool before.

        A target that the old pool is still scraping is taken over when that scrape ends, so that its server never
        sees two connections.
        """
        waiting = [asyncio.wait_for(event.wait(), self._timing.start_timeout) for event in self._started]
        await asyncio.gather(*waiting, return_exceptions=True)
        self.states |= {name: old.states[name] for name in self.states.keys() & old.states.keys()}
        for name in self.states.keys() & {key[0] for key in old._in_flight}:
            self._handovers[name] = asyncio.create_task(self._hand_over(name, old))
        self._assign_all()

    async def _hand_over(self, name: str, old: "WorkerPool") -> None:
        await old.settled(name)
        del self._handovers[name]
        self._send(self._share_of[name], self._admission(self._target(name)))

    async def settled(self, target: str) -> None:
        """Wait until no scrape of a target is in flight."""
        while scrapes := [scrape for key, scrape in self._in_flight.items() if key[0] == target]:
            await asyncio.wait(scrapes)

    async def retire(self) -> None:
        """Log out of each target when its last scrape has ended, then stop.

        Stops after Timing.drain_timeout at the latest.
        """

        async def log_out(name: str) -> None:
            await self.settled(name)
            self._send(self._share_of[name], Dismissal(name))

        for timer in self._idle_timers.values():
            timer.cancel()
        try:
            async with asyncio.timeout(self._timing.drain_timeout):
                await asyncio.gather(*map(log_out, list(self._share_of)))
        except TimeoutError:
            log.warning("scrapes that began before the reload are ended")
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End all workers; none is left behind."""
        self._stopping = True
        for task in (*self._restarting, *self._handovers.values()):
            task.cancel()
        for timer in self._idle_timers.values():
            timer.cancel()
        workers = [worker for worker in self._workers if worker]
        for worker in workers:
            worker.channel.close()
            # A login cut off by our own restart was probably fine; counting it as refused would suspend many targets.
            self._logins.abandon(worker, "not_refused")
            with contextlib.suppress(ProcessLookupError):
                worker.process.terminate()
        # Waited for together, so that workers that hang do not add up their timeouts.
        ends = [asyncio.create_task(worker.process.wait()) for worker in workers]
        if ends:
            await asyncio.wait(ends, timeout=self._timing.stop_timeout)
        for worker, end in zip(workers, ends, strict=True):
            with contextlib.suppress(ProcessLookupError):
                worker.process.kill()
            await end
            worker.receiving.cancel()

    @property
    def size(self) -> int:
        """How many workers there should be."""
        return len(self._shares)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are running."""
        return [worker.process.pid for worker in self._workers if worker]

    @property
    def ready(self) -> int:
        """How many workers accept requests."""
        return sum(ready.is_set() for ready in self._ready)

    @property
    def problem(self) -> str:
        """Why a worker does not accept requests, if that is not just a restart; '' if there is none."""
        for outage in filter(None, self._outages):
            if outage.error:
                return f"a worker process cannot be started: {outage.error}"
            seconds = time.monotonic() - outage.since
            if seconds > self._timing.start_timeout:
                return f"a worker process has not accepted requests for {seconds:.0f} s"
        return ""

    @property
    def allowlisted(self) -> int:
        """How many targets are served that are not configured but on the probe allowlist."""
        return len(self._allowlisted)

    def is_configured(self, name: str) -> bool:
        """Whether there is a configured target of that name."""
        return name in self._share_of and name not in self._allowlisted

    def admitted(self, name: str) -> Target | None:
        """The allowlisted target of that name that is being served, if there is one."""
        return self._allowlisted.get(name)

    def admit(self, target: Target) -> None:
        """Serve an allowlisted target until it has not been scraped for the allowlist's idle timeout.

        A target that is served already gets its new host, if that has changed. At the limit, one that was never up
        gives way, or another name of an address: callers may ask for any of both within the patterns. Raises
        BusyError if there is none.
        """
        name = target.name
        served = self._allowlisted.get(name)
        if served == target or (served is None and name in self._share_of):
            return
        if served:
            index = self._share_of[name]
            self._remove_from_share(name)
            self._send(index, Dismissal(name))
        else:
            if len(self._allowlisted) >= self.config.probe_allowlist.max_targets:
                self._make_room()
            index = min(range(len(self._shares)), key=lambda index: len(self._shares[index]))
            self.states[name] = TargetState()
        self._shares[index] += (target,)
        self._share_of[name] = index
        self._allowlisted[name] = target
        self._send(index, self._admission(target))
        self._restart_idle_timer(name)

    async def scrape(
        self,
        target: str,
        deadline: float,
        *,
        collectors: frozenset[str] | None = None,
        openmetrics: bool = False,
        created: bool = False,
        compress: bool = False,
        module: str = "",
    ) -> ScrapeReply:
        """Scrape a target; callers who ask for the same thing at the same time share one scrape.

        deadline: time.monotonic(). Answers at the latest Timing.silence after it. Raises KeyError for an unknown
        target, BusyError if MAX_IN_FLIGHT different scrapes of it are in flight.
        """
        index = self._share_of[target]
        if target in self._allowlisted:
            self._restart_idle_timer(target)
        key = (target, collectors, openmetrics, created, compress, module)
        scrape = self._in_flight.get(key)
        if scrape is None:
            if sum(other[0] == target for other in self._in_flight) >= MAX_IN_FLIGHT:
                raise BusyError(f"target {target}: {MAX_IN_FLIGHT} different scrapes are under way")
            number = next(self._numbers)
            families = tuple(self._known(target))
            request = ScrapeRequest(
                number, target, deadline, collectors, openmetrics, created, compress, families, module
            )
            scrape = asyncio.create_task(self._scrape(index, request))
            self._in_flight[key] = scrape
            scrape.add_done_callback(lambda _: self._in_flight.pop(key, None))
        # A caller that disconnects must not cancel the scrape for the others.
        return await asyncio.shield(scrape)

    def _restart_idle_timer(self, target: str) -> None:
        if timer := self._idle_timers.get(target):
            timer.cancel()
        loop = asyncio.get_running_loop()
        idle_timeout = self.config.probe_allowlist.idle_timeout
        self._idle_timers[target] = loop.call_later(idle_timeout, self._dismiss, target)

    def _make_room(self) -> None:
        """Remove the oldest allowlisted target that was never up, else the oldest with the address of another one;
        one that is not being scraped if possible."""
        named = Counter((target.host, target.port) for target in self._allowlisted.values())
        spare = [name for name in self._allowlisted if not self.states[name].was_up] or [
            name for name, target in self._allowlisted.items() if named[target.host, target.port] > 1
        ]
        if not spare:
            raise BusyError(
                f"probe_allowlist.max_targets: {len(self._allowlisted)} servers that are not configured are served"
                " already"
            )
        scraped = {key[0] for key in self._in_flight}
        self._remove(min(spare, key=scraped.__contains__))

    def _dismiss(self, target: str) -> None:
        if any(key[0] == target for key in self._in_flight):
            self._restart_idle_timer(target)
        else:
            self._remove(target)

    def _remove(self, target: str) -> None:
        index = self._share_of[target]
        self._remove_from_share(target)
        self._idle_timers.pop(target).cancel()
        del self._allowlisted[target], self.states[target]
        self._send(index, Dismissal(target))

    def _admission(self, target: Target) -> Admission:
        halted = (target.host, target.port) in self._halted
        return Admission(target, halted, self._totals.of(target.name))

    def _target(self, name: str) -> Target:
        share = self._shares[self._share_of[name]]
        return next(target for target in share if target.name == name)

    def _remove_from_share(self, target: str) -> None:
        index = self._share_of.pop(target)
        self._shares[index] = tuple(other for other in self._shares[index] if other.name != target)

    def _send(self, index: int, message: Message) -> None:
        # A worker that is being started gets its targets with the Assignment.
        if worker := self._workers[index]:
            worker.channel.send(message)

    async def _scrape(self, index: int, request: ScrapeRequest) -> ScrapeReply:
        target = request.target
        try:
            reply = await self._request(index, request)
        except WorkerGoneError as error:
            reply = ScrapeReply(request.number, b"", ScrapeSummary(error=str(error)))
        # An allowlisted target may have given way to another meanwhile.
        if state := self.states.get(target):
            state.update(reply.summary)
        if reply.summary.error and (saved := self._logins.saved):
            # A login that may have been refused is remembered, whatever happens once this is answered.
            timeout = request.deadline + self._timing.silence - time.monotonic()
            await asyncio.wait([asyncio.wrap_future(saved)], timeout=timeout)
        if reply.totals:
            await self._totals.keep(reply.totals)
        return reply

    def _note(self, reply: ScrapeReply) -> None:
        """Keep what a reply says beyond its answer, even if nobody waits for it any more."""
        if self._journal and reply.config_snapshot:
            self._journal.on_snapshot(reply.target, reply.config_snapshot)
        if reply.sysmon_halted and reply.target in self._share_of:
            target = self._target(reply.target)
            self._halted.add((target.host, target.port))

    def _ask_login(self, worker: WorkerProcess, question: LoginQuestion) -> None:
        def answer(permit: Permit) -> None:
            worker.channel.send(LoginPermit(question.number, permit))

        self._logins.ask(question, answer, worker)

    async def _request(self, index: int, request: ScrapeRequest) -> ScrapeReply:
        """Send a request to a worker and wait for its reply. Raises WorkerGoneError."""
        if pause := self._pause(request.target):
            raise WorkerGoneError(pause)
        if handover := self._handovers.get(request.target):
            await asyncio.wait([handover], timeout=request.deadline - time.monotonic())
            if not handover.done():
                raise WorkerGoneError("a scrape that began before the reload is still in progress")
        if not self._ready[index].is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ready[index].wait(), request.deadline - time.monotonic())
        worker = self._workers[index]
        if worker is None or not self._ready[index].is_set():
            self._kill_if_it_does_not_start(worker)
            raise WorkerGoneError("the worker process is being started")
        answer: asyncio.Future[ScrapeReply] = asyncio.get_running_loop().create_future()
        worker.pending[request.number] = answer
        worker.scraping.add(request.target)
        try:
            worker.channel.send(request)
            timeout = request.deadline + self._timing.silence - time.monotonic()
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            self._suspect(index, worker)
            raise WorkerGoneError("the worker process did not answer in time") from None
        finally:
            worker.pending.pop(request.number, None)

    def _kill_if_it_does_not_start(self, worker: WorkerProcess | None) -> None:
        # A shorter timeout would kill the replacement of a slow worker as well, again and again.
        if worker and not worker.suspicion and time.monotonic() - worker.started > self._timing.start_timeout:
            self._kill(worker, "it does not start")

    def _suspect(self, index: int, worker: WorkerProcess) -> None:
        """Kill a worker if it stays silent. New requests wait until it answers or is replaced."""
        if worker.suspicion is None and worker is self._workers[index]:
            self._set_ready(index, False)
            worker.suspicion = asyncio.get_running_loop().call_later(
                self._timing.dead_after, self._kill, worker, "it does not answer"
            )

    def _clear_suspicion(self, index: int, worker: WorkerProcess) -> None:
        if worker.suspicion:
            worker.suspicion.cancel()
            worker.suspicion = None
            self._set_ready(index, True)

    def _set_ready(self, index: int, ready: bool) -> None:
        if ready:
            self._ready[index].set()
            self._outages[index] = None
        else:
            self._ready[index].clear()
            self._outages[index] = self._outages[index] or Outage()

    def _kill(self, worker: WorkerProcess, reason: str) -> None:
        log.warning("worker %d is replaced: %s", worker.process.pid, reason)
        with contextlib.suppress(ProcessLookupError):
            worker.process.kill()

    async def _launch(self, index: int) -> None:
        """Start a worker, without its targets. Raises as `process.launch` does."""
        process, channel = await launch()
        receiving = asyncio.create_task(self._receive(index, channel))
        self._workers[index] = WorkerProcess(process, channel, receiving)

    def _assign_all(self) -> None:
        for index in range(len(self._shares)):
            self._assign(index)

    def _assign(self, index: int) -> None:
        self._send(index, self._assignment(index))

    def _assignment(self, index: int) -> Assignment:
        share = tuple(target for target in self._shares[index] if target.name not in self._handovers)
        totals = {target.name: self._totals.of(target.name) for target in share}
        halted = frozenset(self._halted)
        return Assignment(self.config, self._catalogue, share, halted, totals, self._logins.salt)

    async def _receive(self, index: int, channel: Channel) -> None:
        """Pass replies to their callers; replace the worker when it ends."""
        with contextlib.suppress(EOFError):
            while True:
                message = await channel.receive()
                worker = self._workers[index]
                if isinstance(message, Started):
                    self._started[index].set()
                elif isinstance(message, Ready):
                    self._set_ready(index, True)
                elif isinstance(message, ScrapeReply) and worker:
                    self._note(message)
                    self._clear_suspicion(index, worker)
                    if message.ended:
                        worker.scraping.discard(message.target)
                        self._crashes.clear(message.target)
                    answer = worker.pending.get(message.number)
                    if answer and not answer.done():
                        answer.set_result(message)
                    elif message.totals:
                        keeping = asyncio.create_task(self._totals.keep(message.totals))
                        self._keeping.add(keeping)
                        keeping.add_done_callback(self._keeping.discard)
                elif isinstance(message, LoginQuestion) and worker:
                    self._ask_login(worker, message)
                elif isinstance(message, LoginReport):
                    self._logins.note(message)
        self._set_ready(index, False)
        worker, self._workers[index] = self._workers[index], None
        if worker:
            await self._end(worker)
        if not self._stopping:
            task = asyncio.create_task(self._restart(index))
            self._restarting.add(task)
            task.add_done_callback(self._restarting.discard)

    async def _end(self, worker: WorkerProcess) -> None:
        """Fail the requests of a worker that has closed its socket, and wait for its exit."""
        if worker.suspicion:
            worker.suspicion.cancel()
        worker.channel.close()
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

    async def _restart(self, index: int) -> None:
        """Start a worker again, with pauses that grow, until it can be started."""
        self.restarts += 1
        outage = self._outages[index] or Outage()
        while True:
            pause = self._timing.restart_pause * 2 ** min(outage.starts, 20)
            await asyncio.sleep(min(pause, self._timing.max_restart_pause))
            outage.starts += 1
            try:
                await self._launch(index)
                self._assign(index)
            except (OSError, RuntimeError) as error:
                # Out of processes, descriptors, memory or threads.
                reason = getattr(error, "strerror", None) or str(error)
                if not outage.error:
                    log.error("a worker cannot be started: %s; trying again", reason)
                outage.error = reason
            else:
                outage.error = ""
                return
