"""Simulated servers of any version, in this process. Clients use pyodbc and FreeTDS as in production."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.exporter.clocks import ShiftedClock, opener
from tests.planted import DATABASE
from tests.simulator.tds.running import running

from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.catalogue.facts import Query
from ase_exporter.checks.target_check import TargetCheck
from ase_exporter.config import Auth, Config, Module, Scrape, Target
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_simulator.faults import Faults
from ase_simulator.model import load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login

CATALOGUE, _ = load_catalogue()
PASSWORD = DATABASE
LOGINS = {"sa": list(FULL), "monitor": ["mon_role"], "nobody": []}


def reading(*collectors: str) -> Module:
    """A module that reads these collectors and no other."""
    return Module(collectors={name: name in collectors for name in CATALOGUE.collectors})


@dataclass
class Simulated:
    """A running server. model: the state of the simulation."""

    listener: Listener
    loop: asyncio.AbstractEventLoop
    model: Any
    password: str = PASSWORD

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self.listener.address

    @property
    def faults(self) -> Faults:
        """Faults of the server, to be switched on and off."""
        return self.listener.faults

    def drop(self) -> None:
        """Close every connection."""
        self.loop.call_soon_threadsafe(self.listener.drop)
        self.drained()

    def drained(self) -> None:
        """Wait until every connection is closed."""
        asyncio.run_coroutine_threadsafe(self.listener.drained(), self.loop).result(60)

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, on the loop that answers: beside an answer, the same time would be counted twice."""

        async def advance() -> None:
            self.model.advance(seconds)

        asyncio.run_coroutine_threadsafe(advance(), self.loop).result(60)

    def scraper(
        self,
        auth: Auth | None = None,
        module: Module | None = None,
        budget: float | None = None,
        address: tuple[str, int] | None = None,
        **seams: Any,
    ) -> TargetScraper:
        """A target scraper of it. address: of a proxy."""
        return scraper_of(address or self.address, auth, module, budget, **seams)

    def config(self, user: str = "monitor", **parts: Any) -> Config:
        """A configuration with it as the target ONE. parts: other parts of the configuration."""
        host, port = self.address
        auth = Auth(user=user, password=PASSWORD)
        return Config(targets=(Target(name="ONE", host=host, port=port),), auth={"default": auth}, **parts)

    def environment(self, user: str = "monitor") -> dict[str, str]:
        """The variables that make it the target of a command without a configuration."""
        host, port = self.address
        return {"ASE_HOST": host, "ASE_PORT": str(port), "ASE_USER": user, "ASE_PASSWORD": PASSWORD}

    def check(self, user: str = "monitor", *, everything: bool = False) -> TargetCheck:
        """What `check` does with that login."""
        config = self.config(user)
        return TargetCheck(config, config.targets[0], CATALOGUE, everything=everything, timeout=600)

    @contextmanager
    def login(self, user: str) -> Iterator[Query]:
        """A function that runs one statement on a connection of that login."""
        endpoint = Endpoint(*self.address)
        connection = Connection.open(endpoint, user, PASSWORD, deadline=time.monotonic() + 60)
        try:
            yield lambda sql: connection.query(sql, time.monotonic() + 60)
        finally:
            connection.close()


def scraper_of(
    address: tuple[str, int],
    auth: Auth | None = None,
    module: Module | None = None,
    budget: float | None = None,
    *,
    encrypt_password: bool = False,
    limits: Scrape | None = None,
    changes_interval: float | None = None,
    clock: ShiftedClock | None = None,
    catalogue: Catalogue = CATALOGUE,
    **seams: Any,
) -> TargetScraper:
    """A target scraper that waits long for logins, as a busy machine may be slow, and has no budget but of its target.

    clock: its time, if the test moves it. seams: of the scraper.
    """
    if clock:
        seams = {"clock": clock.clock, "open_connection": opener(clock.clock)} | seams
    settings = TargetSettings(
        Target(
            name="ONE", host=address[0], port=address[1], budget=budget, encrypt_password=encrypt_password
        ),
        auth or Auth(user="monitor", password=PASSWORD),
        module or Module(),
        limits or Scrape(connect_timeout=60.0, budget=None),
        changes_interval,
    )
    return TargetScraper(settings, catalogue, **seams)


def scrape(
    scraper: TargetScraper, seconds: float = 60.0, *collectors: str, groups: Iterable[str] = ()
) -> ScrapeResult:
    """One scrape, of these collectors or of all. groups: what to read of sessions."""
    deadline = time.monotonic() + seconds
    request = ScrapeRequest(frozenset(collectors) or None, session_groups=frozenset(groups))
    result = ScrapeResult(deadline, request)
    scraper.scrape(result)
    return result


@contextmanager
def run(
    version: str, scenario: str = "idle", speed: float = 1.0, start: datetime | None = None
) -> Iterator[Simulated]:
    """Run a simulated server of that version until the block ends. start: its date at first, UTC."""
    server = load_scenario(scenario, seed=1, speed=speed, version=version, start=start)[0]
    backend = SqlBackend(server, [Login(name, PASSWORD, roles=roles) for name, roles in LOGINS.items()])
    with running(lambda: Listener(backend)) as found:
        yield Simulated(found.listener, found.loop, server)
