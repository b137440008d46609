"""Captures of simulated servers, and replays of captures, over the wire."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import CATALOGUE, PASSWORD, run, scraper_of
from tests.simulator.tds.running import running

from ase_exporter.capture.file import Capture, load
from ase_exporter.capture.playback import Playback
from ase_exporter.capture.session import Plan, take_capture
from ase_exporter.catalogue import PlannedCollector, plan, read_facts
from ase_exporter.checks.target_check import TargetCheck
from ase_exporter.clock import SYSTEM_CLOCK
from ase_exporter.config import Auth, Config, Module, Target
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.replay.backend import ReplayBackend
from ase_simulator.replay.file import Recorded
from ase_simulator.server import Listener
from ase_simulator.sql.logins import FULL, Login

# Simulated seconds per second: a scrape every 15 simulated seconds.
SPEED, INTERVAL = 60.0, 0.25
LONG = 60.0
Address = tuple[str, int]

FOLDER = Path(__file__).parents[2] / "captures"
FOLDERS = [FOLDER, *map(Path, filter(None, [os.environ.get("ASE_CAPTURES")]))]
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.capture.gz"))]
# In each build the oldest server, a cluster, one with little right and one that differs from the manuals, and what is
# in a folder of one's own; the others every night.
_IN_EACH_BUILD = re.compile("12.5.4|ce-quiet|monitor|hostile")
each_capture = pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, marks=() if path.parent != FOLDER or _IN_EACH_BUILD.search(path.name) else pytest.mark.slow
        )
        for path in FILES
    ],
    ids=lambda path: path.name.removesuffix(".capture.gz"),
)


@cache
def loaded(path: Path) -> Capture:
    return load(path)


def configuration(
    address: Address, user: str = "sa", password: str = PASSWORD, *, encrypted: bool = False
) -> tuple[Config, Target]:
    target = Target(name="recorded", host=address[0], port=address[1], encrypt_password=encrypted)
    auth = Auth(user=user, password=password)
    return Config(targets=(target,), auth={"default": auth}), target


def capture(
    address: Address,
    plan: Plan,
    results: list[ScrapeResult] | None = None,
    user: str = "sa",
    password: str = PASSWORD,
    *,
    encrypted: bool = False,
) -> Capture:
    """A capture with names. results: gets those of the scrapes."""
    config, target = configuration(address, user, password, encrypted=encrypted)

    def note(_: str, result: ScrapeResult | None) -> None:
        if results is not None and result is not None:
            results.append(result)

    return take_capture(config, target, CATALOGUE, plan, note)


def record(
    version: str, scenario: str, plan: Plan, results: list[ScrapeResult] | None = None, user: str = "sa"
) -> Capture:
    """A capture of a simulated server, with names."""
    # The hostile server wants encrypted passwords, and gets worse after two minutes.
    hostile = scenario == "hostile"
    with run(version, scenario, 1.0 if hostile else SPEED) as server:
        return capture(server.address, plan, results, user, encrypted=hostile)


@contextmanager
def replay(statements: Iterable[Recorded]) -> Iterator[Address]:
    """A server that replays a capture."""
    logins = [
        Login("sa", PASSWORD, roles=list(FULL)),
        Login("monitor", PASSWORD, roles=["mon_role"]),
        Login("nobody", PASSWORD),
    ]
    with running(lambda: Listener(ReplayBackend(statements, logins))) as server:
        yield "127.0.0.1", server.port


class RecordedServer(Playback):
    """A connection to the server that was recorded."""

    def close(self) -> None:
        """Nothing is open."""


def check_of(server: RecordedServer) -> TargetCheck:
    """A check, of every collector, of a server that was recorded."""
    config, target = configuration(("127.0.0.1", 1))
    return TargetCheck(
        config, target, CATALOGUE, everything=True, timeout=600, open_connection=lambda *_, **__: server
    )


def planned(taken: Capture) -> list[PlannedCollector]:
    """All collectors that this exporter would read on the server of a capture."""
    facts = read_facts(Playback(taken.statements).query)
    everything = dict.fromkeys(CATALOGUE.collectors, True)
    return [each for each in plan(CATALOGUE, facts, everything) if each.available]


def scrape(
    address: Address,
    scrapes: int,
    *,
    everything: bool = False,
    clock: ShiftedClock | None = None,
    user: str = "sa",
) -> Iterator[ScrapeResult]:
    """Scrapes as `serve` makes them, of every collector each time."""
    collectors = {name: replace(each, interval=0) for name, each in CATALOGUE.collectors.items()}
    scraper = scraper_of(
        address,
        Auth(user=user, password=PASSWORD),
        Module(collectors=dict.fromkeys(collectors, True) if everything else {}),
        catalogue=replace(CATALOGUE, collectors=collectors),
        changes_interval=0.0,
        raw_counters=True,
        clock=clock,
    )
    time = clock.clock if clock else SYSTEM_CLOCK
    for _ in range(scrapes):
        result = ScrapeResult(time.monotonic() + LONG, clock=time)
        scraper.scrape(result)
        yield result
    scraper.close()
