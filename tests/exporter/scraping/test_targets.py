"""The targets of a process: shared scrapes, answers by each caller's deadline, and what late ones still bring."""

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.exporter.simulated import CATALOGUE, PASSWORD, Simulated, run
from tests.programs import eventually_here

from ase_exporter.ase.call_record import call_record
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.changes.snapshot import ConfigSnapshot
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.targets import MAX_IN_FLIGHT, Answer, BusyError, Targets
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.turn import TURN

pytestmark = pytest.mark.anyio

Ended = list[tuple[str, ScrapeResult]]


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
    )


@asynccontextmanager
async def running(config: Config, ended: Ended | None = None) -> AsyncIterator[Targets]:
    """Targets, of which no thread outlives the block. ended: gets the scrapes that end."""

    def on_end(target: str, result: ScrapeResult) -> None:
        if ended is not None:
            ended.append((target, result))

    targets = Targets(LoginLedger(), on_end=on_end)
    targets.configure(config, CATALOGUE)
    before = threads()
    try:
        yield targets
    finally:
        await targets.stop()
    assert threads() <= before


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("target ")}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the end of a thread takes, it is waited for."""
    monkeypatch.setattr(TIMING, "stop_timeout", 60.0)


@pytest.fixture
async def targets(server: Simulated) -> AsyncIterator[Targets]:
    async with running(config(server)) as targets:
        yield targets


def scrape(targets: Targets, target: str = "ONE", seconds: float = 60.0, *more: str) -> Awaitable[Answer]:
    request = ScrapeRequest(frozenset({"state", *more}))
    return targets.scrape(target, request, time.monotonic() + seconds)


class Steered(TargetScraper):
    """Waits in each scrape until it may go on; then finds a change, and that sp_sysmon has cleared counters."""

    begun = threading.Event()
    go_on = threading.Event()
    scrapes = 0

    def scrape(self, result: ScrapeResult) -> None:
        Steered.scrapes += 1
        result.summary.up = True
        self.begun.set()
        with TURN.given_up():
            assert self.go_on.wait(60)
        result.config_snapshot = ConfigSnapshot(1.0, b"changed")
        result.ended = result.sysmon_halted = True


@pytest.fixture
def steered(monkeypatch: pytest.MonkeyPatch) -> type[Steered]:
    monkeypatch.setattr(Steered, "begun", threading.Event())
    monkeypatch.setattr(Steered, "go_on", threading.Event())
    monkeypatch.setattr(Steered, "scrapes", 0)
    monkeypatch.setattr("ase_exporter.scraping.targets.TargetScraper", Steered)
    # However late a thread gets to a scrape, it is not left out.
    standing = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr("ase_exporter.scraping.target_thread.time", standing)
    return Steered


async def begun(scraper: type[Steered]) -> None:
    assert await asyncio.to_thread(scraper.begun.wait, 60)


async def test_simultaneous_equal_requests_share_one_scrape(targets: Targets) -> None:
    first, second, other = await asyncio.gather(scrape(targets), scrape(targets), scrape(targets, "TWO"))
    assert first.summary.up and first.summary is second.summary
    assert other.summary is not first.summary
    assert (await scrape(targets)).summary is not first.summary


async def test_a_caller_that_disconnects_does_not_cancel_the_scrape_of_the_others(targets: Targets) -> None:
    leaving = asyncio.ensure_future(scrape(targets))
    staying = asyncio.ensure_future(scrape(targets))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).summary.up


async def test_too_many_different_scrapes_of_a_target_are_rejected(targets: Targets) -> None:
    asked = [
        asyncio.ensure_future(scrape(targets, "ONE", 60, str(number))) for number in range(MAX_IN_FLIGHT)
    ]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await scrape(targets, "ONE", 60, "another")
    assert (await scrape(targets, "TWO")).summary.up
    assert all(answer.summary.up for answer in await asyncio.gather(*asked))
    assert (await scrape(targets, "ONE", 60, "another")).summary.up


async def test_each_caller_is_answered_by_its_own_deadline_with_what_was_found(
    server: Simulated, steered: type[Steered]
) -> None:
    ended: Ended = []
    async with running(config(server), ended) as targets:
        first = asyncio.ensure_future(scrape(targets, seconds=3600))
        await begun(steered)
        joined = await scrape(targets, seconds=0.1)
        assert joined.summary.up and joined.summary.error == "not everything was read in time"
        assert b"ase_up 1.0" in joined.body
        assert b'ase_exporter_target_error{reason="stuck"} 1.0' in joined.body
        assert not first.done() and ended == []
        steered.go_on.set()
        whole = await first
        assert whole.summary.error == "" and b"target_error" not in whole.body
        assert steered.scrapes == 1


async def test_what_is_found_after_the_deadline_is_kept(server: Simulated, steered: type[Steered]) -> None:
    ended: Ended = []
    async with running(config(server), ended) as targets:
        assert b"stuck" in (await scrape(targets, seconds=0.1)).body
        steered.go_on.set()
        await eventually_here("the end of the scrape", lambda: bool(ended))
        [(name, result)] = ended
        assert (name, result.config_snapshot) == ("ONE", ConfigSnapshot(1.0, b"changed"))


async def test_a_scrape_whose_turn_comes_too_late_is_no_error_of_the_exporter(targets: Targets) -> None:
    answer = await scrape(targets, seconds=-0.05)
    assert b"ase_up 0.0" in answer.body
    assert b'ase_exporter_target_error{reason="stuck"} 1.0' in answer.body


async def test_a_target_that_is_removed_and_comes_back_waits_for_its_scrape_under_way(
    server: Simulated, steered: type[Steered]
) -> None:
    """Otherwise the server would see two connections, and two threads would write one file of totals."""
    async with running(config(server)) as targets:
        first = asyncio.ensure_future(scrape(targets, seconds=3600))
        await begun(steered)
        for configured in (replace(config(server), targets=()), config(server)) * 2:
            targets.configure(configured, CATALOGUE)
        assert b"stuck" in (await scrape(targets, seconds=0.1)).body
        assert steered.scrapes == 1
        steered.go_on.set()
        assert (await first).summary.up and (await scrape(targets)).summary.up


async def test_a_scrape_past_its_deadline_is_not_joined(server: Simulated, steered: type[Steered]) -> None:
    """It would answer with what was true then."""
    async with running(config(server)) as targets:
        assert b"stuck" in (await scrape(targets, seconds=0.1)).body
        await begun(steered)
        late = await scrape(targets, seconds=0.1)
        assert b"ase_up 0.0" in late.body
        steered.go_on.set()
        assert b"ase_up 1.0" in (await scrape(targets)).body


async def test_a_scrape_that_a_caller_cut_short_serves_no_other(
    server: Simulated, steered: type[Steered]
) -> None:
    """Whoever asks with a timeout of milliseconds must not make a server look down to Prometheus."""
    async with running(config(server)) as targets:
        short = asyncio.ensure_future(scrape(targets, seconds=60))
        await begun(steered)
        whole = asyncio.ensure_future(scrape(targets, seconds=3600))
        await asyncio.sleep(0)
        steered.go_on.set()
        await asyncio.gather(short, whole)
        assert steered.scrapes == 2


async def test_no_exception_ends_the_thread_of_a_target(
    server: Simulated, targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ase_exporter.scraping.target_thread.render_scrape", lambda *_, **__: 1 / 0)
        failed = await scrape(targets)
        assert failed.summary.error == "unexpected error, see the log"
        assert b"ase_up 0.0" in failed.body and b'target_error{reason="internal"} 1.0' in failed.body
    answer = await scrape(targets)
    assert answer.summary.up and b"ase_up 1.0" in answer.body


async def test_a_bug_while_it_reads_or_writes_its_totals_does_not_end_the_thread_of_a_target(
    server: Simulated, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(TargetScraper, "restore_totals", lambda _: 1 / 0)
    monkeypatch.setattr(TargetScraper, "save_totals", lambda _: 1 / 0)
    async with running(config(server)) as targets:
        assert (await scrape(targets)).summary.up
        targets.configure(replace(config(server), targets=()), CATALOGUE)
        await eventually_here("the end", lambda: not server.listener.connections)
    assert caplog.text.count("ZeroDivisionError") == 2


async def test_a_target_without_a_thread_is_answered_and_tried_again(
    targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if thread.name.startswith("target"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", limited)
        answer = await scrape(targets)
        assert "TasksMax" in answer.summary.error and b"ase_up 0.0" in answer.body
    assert (await scrape(targets)).summary.up


async def test_a_paused_target_is_not_asked_and_the_others_are(
    targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(target: str) -> str:
        return "its scrapes ended the exporter" if target == "ONE" else ""

    monkeypatch.setattr(call_record, "pause", pause)
    paused = await scrape(targets)
    assert not paused.summary.up and paused.summary.error == "its scrapes ended the exporter"
    assert b'ase_exporter_target_error{reason="paused"} 1.0' in paused.body
    assert (await scrape(targets, "TWO")).summary.up


async def test_a_reload_leaves_a_target_that_it_does_not_change_alone(server: Simulated) -> None:
    before = config(server)
    changed = replace(before.targets[1], budget=0.5)
    after = replace(before, targets=(replace(before.targets[0], labels={"team": "a"}), changed))
    async with running(before) as targets:
        for connects in (1.0, 1.0):
            for name in ("ONE", "TWO"):
                answer = await targets.scrape(name, ScrapeRequest(), time.monotonic() + 60)
                assert f"ase_exporter_connects_total {connects}".encode() in answer.body
            threads_before = threads()
            targets.configure(after, CATALOGUE)
        kept = {thread.name for thread in threads() & threads_before if thread.is_alive()}
        assert "target ONE" in kept
        assert (await scrape(targets, "ONE")).summary.up
        targets.configure(replace(after, targets=after.targets[1:]), CATALOGUE)
        assert list(targets.states) == ["TWO"]
        with pytest.raises(KeyError):
            await scrape(targets, "ONE")


def test_a_sp_sysmon_that_cleared_counters_stays_off_after_a_reload(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SysmonSettings(auth="default", interval=60.0, duration=5.0)
    usual = config(server)
    target = replace(usual.targets[0], sysmon=settings)
    first = SysmonRunner(target, usual.auth["default"], settings)
    monkeypatch.setattr(first, "run_once", lambda: "cleared_counters")
    monkeypatch.setattr(random, "uniform", lambda *_: 0.0)
    first._loop()
    assert first.halted
    targets = Targets(LoginLedger())
    result = ScrapeResult(0.0, sysmon_halted=first.halted)
    targets._note(target, result)
    # By another name, too.
    renamed = replace(target, name="RENAMED")
    targets.configure(replace(usual, targets=(renamed,)), CATALOGUE)
    assert not [thread for thread in threading.enumerate() if thread.name == "sysmon RENAMED"]
