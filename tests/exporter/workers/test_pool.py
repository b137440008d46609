"""The worker pool: shared scrapes, replacement after a crash or a stop, and no process left behind."""

import asyncio
import itertools
import json
import os
import pickle
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx2
import psutil
import pytest
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import CATALOGUE, PASSWORD, Simulated, run

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.scraping.result import ScrapeSummary
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.messages import ScrapeReply, ScrapeRequest
from ase_exporter.workers.pool import MAX_IN_FLIGHT, BusyError, WorkerPool
from ase_exporter.workers.process import WorkerProcess, WorkerSlot
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


def config(server: Simulated) -> Config:
    host, port = server.address
    return Config(
        targets=tuple(Target(name=name, host=host, port=port) for name in ("ONE", "TWO")),
        auth={"default": Auth(user="monitor", password=PASSWORD)},
        scrape=Scrape(connect_timeout=60.0, budget=None),
        workers=2,
    )


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[WorkerPool]:
    """A pool, of which no worker outlives the block."""
    pool = WorkerPool(Loaded(config, pickle.dumps(CATALOGUE)))
    await pool.start()
    try:
        yield pool
    finally:
        pids = pool.pids
        await pool.stop()
    for pid in pids:
        assert not psutil.pid_exists(pid)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def pool(server: Simulated) -> AsyncIterator[WorkerPool]:
    """A pool that each test leaves with two workers that answer."""
    async with running(config(server)) as pool:
        for target in ("ONE", "TWO"):
            assert (await scrape(pool, target)).summary.up
        yield pool


def scrape(pool: WorkerPool, target: str = "ONE", seconds: float = 60.0) -> Awaitable[ScrapeReply]:
    return pool.scrape(ScrapeRequest(target, time.monotonic() + seconds, collectors=frozenset({"state"})))


async def test_simultaneous_equal_requests_share_one_scrape(pool: WorkerPool) -> None:
    first, second, other = await asyncio.gather(scrape(pool), scrape(pool), scrape(pool, "TWO"))
    assert first is second
    assert other is not first
    assert (await scrape(pool)) is not first


async def test_a_caller_that_disconnects_does_not_cancel_the_scrape_of_the_others(pool: WorkerPool) -> None:
    leaving = asyncio.ensure_future(scrape(pool))
    staying = asyncio.ensure_future(scrape(pool))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).summary.up


async def test_too_many_different_scrapes_of_a_target_are_rejected(pool: WorkerPool) -> None:
    def ask(number: int) -> Awaitable[ScrapeReply]:
        return pool.scrape(
            ScrapeRequest("ONE", time.monotonic() + 60, collectors=frozenset({"state", str(number)}))
        )

    asked = [asyncio.ensure_future(ask(number)) for number in range(MAX_IN_FLIGHT)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await ask(MAX_IN_FLIGHT)
    assert (await scrape(pool, "TWO")).summary.up
    assert all(reply.summary.up for reply in await asyncio.gather(*asked))
    assert (await ask(MAX_IN_FLIGHT)).summary.up


async def test_a_worker_that_is_killed_is_replaced_and_the_other_targets_do_not_notice(
    pool: WorkerPool,
) -> None:
    (victim, survivor), restarts = pool.pids, pool.restarts
    os.kill(victim, signal.SIGKILL)
    assert (await scrape(pool, "TWO")).summary.up
    while not (await scrape(pool)).summary.up:
        pass
    assert survivor in pool.pids
    assert victim not in pool.pids
    assert pool.restarts == restarts + 1


async def test_a_target_that_ends_its_worker_again_and_again_is_paused_and_the_others_are_not(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TIMING, "restart_pause", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # Its scrape is in flight until its worker is killed.
        bad = Target(name="BAD", host="127.0.0.1", port=silent.getsockname()[1])
        usual = config(server)
        both = replace(usual, targets=(usual.targets[0], bad), workers=1)
        async with running(both) as pool:
            for _ in range(2):
                assert (await scrape(pool)).summary.up
                ending = asyncio.ensure_future(scrape(pool, "BAD"))
                # It has reached the worker once a scrape that was asked for later is answered.
                await asyncio.sleep(0)
                assert (await scrape(pool)).summary.up
                os.kill(pool.pids[0], signal.SIGKILL)
                assert "ended during the scrape" in (await ending).summary.error
            assert (await scrape(pool)).summary.up
            (survivor,) = pool.pids
            paused = (await scrape(pool, "BAD")).summary
            assert not paused.up
            assert paused.error.startswith("its scrapes ended a worker 2 times in a row; tried again in")
            assert (await scrape(pool)).summary.up
            assert pool.pids == [survivor]


async def test_a_stopped_worker_is_replaced_after_the_deadline(pool: WorkerPool) -> None:
    stopped = pool.pids[0]
    os.kill(stopped, signal.SIGSTOP)
    reply = await scrape(pool, "ONE", 0.5)
    assert not reply.summary.up
    assert "did not answer in time" in reply.summary.error
    assert (await scrape(pool)).summary.up
    assert stopped not in pool.pids


async def test_a_worker_that_is_slow_to_start_is_waited_for(
    server: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "go")
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nread go <"{tmp_path / "go"}"\nexec "{sys.executable}" "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))

    async with running(config(server)) as pool:
        before = pool.pids
        reply = await scrape(pool, "ONE", 0.2)
        assert (reply.summary.up, reply.summary.error) == (False, "the worker process is being started")
        # Each of the two takes one line, and either may come first.
        with (tmp_path / "go").open("w") as go:
            go.write("go\n" * 2)
            go.flush()
            assert (await scrape(pool)).summary.up
            assert (await scrape(pool, "TWO")).summary.up
        assert pool.pids == before
        assert pool.restarts == 0


async def test_a_worker_that_cannot_be_started_is_tried_again_with_pauses_that_grow(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started, real = [], WorkerPool._launch

    async def noting(pool: WorkerPool, slot: WorkerSlot) -> None:
        started.append(time.monotonic())
        await real(pool, slot)

    monkeypatch.setattr(WorkerPool, "_launch", noting)
    monkeypatch.setattr(TIMING, "restart_pause", 0.05)
    assert (pool.ready, pool.problem) == (2, "")
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patch:
        # As when processes or descriptors have run out.
        patch.setattr(sys, "executable", "/none")
        os.kill(pool.pids[0], signal.SIGKILL)
        async with asyncio.timeout(60):
            while len(started) < 5:
                await asyncio.sleep(0.01)
        assert pool.ready == 1
        assert "cannot be started: No such file or directory" in pool.problem
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors
    assert (await scrape(pool)).summary.up
    assert (pool.ready, pool.problem) == (2, "")
    pauses = [later - earlier for earlier, later in itertools.pairwise(started[:5])]
    assert all(pause >= 0.05 * 2**number for number, pause in enumerate(pauses, 1))
    assert caplog.text.count("cannot be started") == 1


def test_a_worker_that_does_not_become_ready_is_a_problem(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Loaded(config(server), b"")

    async def problem(start_timeout: float) -> str:
        monkeypatch.setattr(TIMING, "start_timeout", start_timeout)
        return WorkerPool(loaded).problem

    assert asyncio.run(problem(60.0)) == ""
    assert asyncio.run(problem(-1.0)) == "a worker process has not accepted requests for 0 s"


async def test_a_hundred_scrapes_and_a_replaced_worker_try_a_wrong_password_no_more_than_twice(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = server.address
    wrong = replace(
        config(server),
        targets=(Target(name="ONE", host=host, port=port),),
        auth={"default": Auth(user="monitor", password="wrong")},
    )
    logins: list[object] = []
    login = SqlBackend.login

    def noting(backend: SqlBackend, request: LoginRequest) -> SqlSession | Message:
        logins.append(request)
        return login(backend, request)

    monkeypatch.setattr(SqlBackend, "login", noting)

    async with running(wrong) as pool:
        for number in range(100):
            reply = await scrape(pool)
            assert not reply.summary.up
            if number in (30, 60):
                # A driver that crashes takes along what the worker knew.
                (victim,) = pool.pids
                os.kill(victim, signal.SIGKILL)
                while pool.pids == [victim]:
                    await asyncio.sleep(0.02)
        assert "login monitor" in reply.summary.error
    assert 1 <= len(logins) <= LOGIN_ATTEMPTS


async def test_a_worker_that_is_only_slow_is_kept(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIMING, "dead_after", 600.0)
    monkeypatch.setattr(TIMING, "start_timeout", 0.0)
    before, restarts = pool.pids, pool.restarts
    os.kill(before[0], signal.SIGSTOP)
    for _ in range(2):
        assert not (await scrape(pool, "ONE", 0.2)).summary.up
    os.kill(before[0], signal.SIGCONT)
    assert (await scrape(pool)).summary.up
    assert (pool.pids, pool.restarts) == (before, restarts)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_when_the_exporter_ends_no_process_stays(
    server: Simulated, tmp_path: Path, ending: signal.Signals
) -> None:
    host, port = server.address
    settings = (
        f"auth: {{default: {{user: monitor, password: {PASSWORD}}}}}\n"
        f"targets: [{{name: ONE, host: {host}, port: {port}}}]\n"
        f"scrape: {json.dumps(PATIENT)}\n"
    )
    with exporter(tmp_path, settings) as serving:
        with httpx2.Client(trust_env=False, timeout=90) as client:
            assert "ase_up 1.0" in client.get(f"{serving.url}/probe?target=ONE&collect[]=state").text
        _, *children = serving.processes()
        assert children
        serving.process.send_signal(ending)
        assert serving.process.wait(60) == (-signal.SIGKILL if ending is signal.SIGKILL else 0)
        _, alive = psutil.wait_procs(children, 60)
        assert not alive


async def test_an_idle_connection_goes_away_on_both_sides_and_the_next_scrape_is_whole(
    server: Simulated, pool: WorkerPool
) -> None:
    assert pool.ready == 2
    idle = Target(name="IDLE", host=server.address[0], port=server.address[1], close_idle_after=0.1)
    kept = replace(idle, name="KEPT", close_idle_after=None)
    both = replace(config(server), targets=(idle, kept), workers=1)

    async with running(both) as own:
        (worker,) = map(psutil.Process, own.pids)

        def ours() -> int:
            return sum(
                bool(end.raddr) and end.raddr[1] == server.address[1] for end in worker.net_connections("tcp")
            )

        for number in (1.0, 2.0):
            for name in ("IDLE", "KEPT"):
                reply = await scrape(own, name)
                assert reply.summary.up
                assert b"\nase_transactions_total " in reply.body
                connects = number if name == "IDLE" else 1.0
                assert f"ase_exporter_connects_total {connects}".encode() in reply.body
            end = time.monotonic() + 60
            # Each of the other pool's two targets has a connection, too.
            while (server.listener.connections, ours()) != (3, 1) and time.monotonic() < end:
                await asyncio.sleep(0.05)
            assert (server.listener.connections, ours()) == (3, 1)


STUCK_DRIVER = """
import threading, pyodbc
real = pyodbc.connect
def connect(string, **options):
    if "UID={hopeless}" in string:
        threading.Event().wait()
    return real(string, **options)
pyodbc.connect = connect
"""


async def test_a_thread_that_does_not_come_back_costs_its_target_alone_until_its_worker_is_replaced(
    server: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Workers get a driver that never returns from one login.
    (tmp_path / "sitecustomize.py").write_text(STUCK_DRIVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    both = config(server)
    hopeless = replace(both.targets[1], auth="hopeless")
    auth = {**both.auth, "hopeless": Auth(user="hopeless", password=PASSWORD)}
    stuck = replace(both, targets=(both.targets[0], hopeless), auth=auth, workers=1)

    # The worker of a busy machine may be late to report that the thread is stuck.
    monkeypatch.setattr(TIMING, "silence", 60.0)
    async with running(stuck) as pool:
        assert (await scrape(pool)).summary.up
        (first,) = pool.pids
        reply = await scrape(pool, "TWO", 3.0)
        assert b'ase_exporter_target_error{reason="stuck"} 1.0' in reply.body
        assert (await scrape(pool)).summary.up
        async with asyncio.timeout(60):
            while pool.pids in ([first], []):
                await asyncio.sleep(0.05)
        assert (await scrape(pool)).summary.up
        assert pool.restarts == 1


def test_a_sp_sysmon_that_cleared_counters_stays_off_after_a_reload_or_a_worker_death(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = SysmonSettings(auth="default", interval=60.0, duration=5.0)
    auth = Auth(user="monitor", password=PASSWORD)
    target = Target(name="ONE", host="db.example", port=5000, sysmon=settings)
    first = SysmonRunner(target, auth, settings)
    monkeypatch.setattr(first, "run_once", lambda: "cleared_counters")
    monkeypatch.setattr(random, "uniform", lambda *_: 0.0)
    first._loop()
    assert first.halted
    loaded, halted = Loaded(Config(targets=(target,), auth={"default": auth}), b""), set[tuple[str, int]]()
    reply = ScrapeReply(1, b"", ScrapeSummary(), ended=True, sysmon_halted=first.halted, target=target.name)
    worker = cast(WorkerProcess, SimpleNamespace(scraping=set(), pending={}))
    WorkerPool(loaded, halted=halted)._take_reply(worker, reply)
    # After a reload.
    assert WorkerPool(loaded, halted=halted)._admission(target).sysmon_halted
    after = SysmonRunner(target, auth, settings, halted=True)
    after.start()
    assert not [thread for thread in threading.enumerate() if thread.name == "sysmon ONE"]


async def test_who_joins_a_scrape_is_answered_by_its_own_deadline(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = asyncio.Event()

    async def request(_: WorkerSlot, asked: ScrapeRequest) -> ScrapeReply:
        await silent.wait()
        return ScrapeReply(asked.number, b"", ScrapeSummary(up=True))

    monkeypatch.setattr(pool, "_request", request)
    first = asyncio.create_task(cast("Coroutine[None, None, ScrapeReply]", scrape(pool, seconds=3600)))
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        joined = await scrape(pool, seconds=0.1)
    assert joined.summary.error
    assert not first.done()
    silent.set()
    assert (await first).summary.up
