"""Reloads of the configuration under scrapes, and reloads that fail."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.exporter.simulated import PASSWORD, Simulated, reading
from tests.programs import eventually_here

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.config import Auth, Config, Scrape
from ase_exporter.config.changes import ChangesConfig
from ase_exporter.scraping.result import ScrapeRequest
from ase_exporter.scraping.targets import Answer
from ase_exporter.web.app import ExporterApp
from ase_exporter.web.loading import Loaded
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

pytestmark = pytest.mark.anyio


class Logins:
    """Logins at the server: each waits until `proceed` is set. begun: how many there were."""

    def __init__(self) -> None:
        self.begun = 0
        self.proceed = threading.Event()

    async def until(self, begun: int) -> None:
        await eventually_here(f"{begun} logins", lambda: self.begun >= begun)


@pytest.fixture
def logins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logins]:
    logins, login = Logins(), SqlBackend.login

    def waiting(backend: SqlBackend, request: LoginRequest) -> SqlSession | Message:
        logins.begun += 1
        assert logins.proceed.wait(60)
        return login(backend, request)

    monkeypatch.setattr(SqlBackend, "login", waiting)
    yield logins
    logins.proceed.set()


def one(server: Simulated, password: str) -> Config:
    """A configuration of one target."""
    config = server.config(
        modules={"default": reading("state")},
        changes=ChangesConfig(enabled=False),
        scrape=Scrape(timeout=60.0, connect_timeout=60.0, budget=None),
    )
    return replace(config, auth={"default": Auth(user="monitor", password=password)})


@asynccontextmanager
async def started(file: list[Config]) -> AsyncIterator[ExporterApp]:
    """An app. file: holds the configuration that is loaded now."""
    with TemporaryDirectory() as state:
        app = ExporterApp(lambda: Loaded.of(file[0]), Loaded.of(file[0]), Path(state))
        await app.start()
        try:
            yield app
        finally:
            await app.stop()


def scrape(app: ExporterApp, name: str = "ONE") -> "asyncio.Task[Answer]":
    return asyncio.create_task(app.targets.scrape(name, ScrapeRequest(), time.monotonic() + 60))


async def test_a_scrape_in_flight_survives_a_reload(server: Simulated, logins: Logins) -> None:
    file = [one(server, PASSWORD)]
    async with started(file) as app:
        in_flight = scrape(app)
        await logins.until(1)
        file[0] = replace(file[0], targets=(replace(file[0].targets[0], budget=0.5),))
        await app.reload()
        # The target has changed. Its next scrape waits for this one: the server never sees two connections.
        following = scrape(app)
        await asyncio.sleep(0.2)
        assert (in_flight.done(), following.done(), logins.begun) == (False, False, 1)
        logins.proceed.set()
        first, second = await in_flight, await following
        assert (first.summary.up, first.summary.error) == (True, "")
        assert (second.summary.up, logins.begun) == (True, 2)


async def test_a_login_in_flight_during_each_reload_is_counted(server: Simulated, logins: Logins) -> None:
    async with started([one(server, "wrong")]) as app:
        for number in range(LOGIN_ATTEMPTS + 1):
            logins.proceed.clear()
            in_flight = scrape(app)
            while not in_flight.done() and logins.begun <= number:
                await asyncio.sleep(0.01)
            reload = asyncio.create_task(app.reload())
            await asyncio.sleep(0.05)
            logins.proceed.set()
            assert not (await in_flight).summary.up
            await reload
        assert 1 <= logins.begun <= LOGIN_ATTEMPTS


async def test_reloads_do_not_get_a_login_locked(server: Simulated, logins: Logins) -> None:
    logins.proceed.set()
    refused = one(server, "wrong")
    file = [refused]
    async with started(file) as app:
        for _ in range(LOGIN_ATTEMPTS + 1):
            assert not (await scrape(app)).summary.up
            await app.reload()
        # The same server and login by another name.
        file[0] = replace(refused, targets=(replace(refused.targets[0], name="ALIAS"),))
        await app.reload()
        assert not (await scrape(app, "ALIAS")).summary.up
        assert app.watches.keys() == {"ALIAS"}
        assert 1 <= logins.begun <= LOGIN_ATTEMPTS
        # Another password of that login is tried at once.
        file[0] = one(server, PASSWORD)
        await app.reload()
        assert (await scrape(app)).summary.up


async def test_reloads_that_come_at_once_are_two_at_most_and_the_last_one_reads_the_last_file(
    tmp_path: Path,
) -> None:
    loaded = Loaded.of(Config())
    begun, going = threading.Event(), threading.Event()
    loads: list[None] = []

    def load() -> Loaded:
        loads.append(None)
        begun.set()
        assert going.wait(60)
        return loaded

    app = ExporterApp(load, loaded, tmp_path)
    await app.start()
    first = asyncio.create_task(app.reload())
    await asyncio.to_thread(begun.wait, 60)
    others = [asyncio.create_task(app.reload()) for _ in range(40)]
    await asyncio.sleep(0)
    assert len(loads) == 1
    going.set()
    await asyncio.gather(first, *others)
    assert len(loads) == 2
    await app.reload()
    assert len(loads) == 3
    await app.stop()
