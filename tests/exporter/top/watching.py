"""Samples of simulated servers whose time the test moves, so that figures do not depend on the machine's load."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from tests.exporter.clocks import StandingClock, opener
from tests.paths import REPOSITORY
from tests.simulator.tds.running import Running, running

from ase_exporter.advise.evidence import Evidence
from ase_exporter.ase.timing import TIMING
from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.clock import Clock
from ase_exporter.config import Auth, Config, Module, Scrape, Target
from ase_exporter.readings.live import SCREEN, CollectorChoice, TargetSampler, advice_catalogue
from ase_exporter.readings.recording import Recording
from ase_exporter.readings.samples import Sample
from ase_exporter.top.frames import Frame, frame
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

SCENARIOS = REPOSITORY / "simulator" / "ase_simulator" / "scenarios"
HOST = "127.0.0.1"
AUTH = Auth(user="ase_exporter", password="exporter")
# Seconds of a deadline that is never reached: the clock stands still during a scrape.
LONG = 3600.0


@cache
def catalogue() -> Catalogue:
    return load_catalogue()[0]


def altered(scenario: str, directory: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """A scenario whose content has been changed: the path of its file."""
    content = load_yaml((SCENARIOS / f"{scenario}.yaml").read_text())
    change(content)
    file = directory / f"{scenario}.yaml"
    file.write_text(yaml.safe_dump(content))
    return str(file)


def one_step(scenario: str, step: str, directory: Path) -> str:
    """A scenario that stays in one step of another: the path of its file. step: how its name begins."""

    def stay(content: dict[str, Any]) -> None:
        (chosen,) = (each for each in content["steps"] if each["name"].startswith(step))
        content["steps"] = [{**chosen, "seconds": 86400}]

    return altered(scenario, directory, stay)


@contextmanager
def standing(scenario: str, **options: Any) -> Iterator[tuple[SimulatedServer, Running]]:
    """A server of that scenario for which no time passes but what the test lets pass. options: of load_scenario."""
    (server,) = load_scenario(scenario, speed=0, **options)
    assert isinstance(server, SimulatedServer)
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        yield server, run


@dataclass
class Watched:
    """A simulated server and its sampler. server: use it by `run.ask` alone."""

    server: SimulatedServer
    run: Running
    sampler: TargetSampler
    time: StandingClock

    def sample(self, after: float = 0.0) -> Sample:
        """The next sample, that many simulated seconds later."""
        self.time.ahead += after
        self.run.ask(partial(self.server.world.clock.advance, after))
        return self.sampler.take()

    def frame(self, after: float = 0.0) -> Frame:
        """The next frame, that many simulated seconds later."""
        return frame(self.sample(after))

    def evidence(self, seconds: float = 30.0) -> Evidence:
        """What `advise` knows of it, over so many simulated seconds."""
        *_, last = self.frames(2, seconds)
        assert last.evidence
        return last.evidence

    def frames(self, count: int, interval: float) -> Iterator[Frame]:
        """That many frames; the first is without figures."""
        yield self.frame()
        for _ in range(count - 1):
            yield self.frame(interval)


@contextmanager
def watched(
    scenario: str,
    *,
    interval: float = 2.0,
    version: str | None = None,
    module: Module | None = None,
    auth: Auth = AUTH,
    budget: float | None = 0.01,
    warm_up: float = 60.0,
    record: Callable[[Clock], Recording] | None = None,
    start: datetime | None = None,
    seed: int = 1,
    selection: CollectorChoice = SCREEN,
) -> Iterator[Watched]:
    """A server of that scenario, up for `warm_up` seconds, and a sampler on moved time. record: makes a recording.

    start: the server's date at first, UTC. seed: of its counters. selection: what is read.
    """
    with (
        patch.object(TIMING, "login_pause", 48.0),
        standing(scenario, version=version, start=start, seed=seed) as (server, run),
    ):
        began = server.now().replace(tzinfo=UTC).timestamp()
        time = StandingClock()
        clock = Clock(time.monotonic, lambda: began + time.ahead)
        target = Target(name=server.name, host=HOST, port=run.port)
        config = Config(
            targets=(target,),
            auth={"default": auth},
            modules={"default": module or Module()},
            scrape=Scrape(connect_timeout=60.0, budget=budget),
        )
        recording = record(clock) if record else None
        sampler = TargetSampler(
            config,
            target,
            catalogue() if selection is SCREEN else advice_catalogue(),
            interval,
            timeout=LONG,
            clock=clock,
            open_connection=recording.recorder.open if recording else opener(clock),
            save=recording.save if recording else None,
            selection=selection,
        )
        watching = Watched(server, run, sampler, time)
        run.ask(partial(server.world.clock.advance, warm_up))
        try:
            yield watching
        finally:
            sampler.close()
