"""A simulated server whose contention rises after one of three changes, recorded and stored in a real Prometheus.

The first change touches no spinlock. The second (native access plans without a lockless cache) is the case study's
step that made contention worse. The third came later and did little.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.e2e.simulated_time import Recording, metrics_in_rules, record
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.simulated import reading
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_simulator.model import SimulatedServer

SERVER = "PROD1"
SECONDS = 2100
HARMLESS, GUILTY, LATER = "number of locks", "simplified native access plan", "enable LFB index"
DEEDS = {HARMLESS: (525, 2_500_000), GUILTY: (1050, 1), LATER: (1575, 1)}
HOTTEST = "system tables cache"
_MEMSCALE = REPOSITORY / "simulator" / "ase_simulator" / "scenarios" / "memscale.yaml"
_COLLECTORS = {
    *("state", "engines", "threads", "spinlocks", "configuration", "server"),
    *("data_caches", "cache_pools"),
}


def _switch(name: str, value: int, server: SimulatedServer) -> None:
    server.set_option(name, value, "sa")


def recorded(folder: Path) -> Recording:
    """The story, scraped every 15 simulated seconds with the exporter's collectors."""
    content = load_yaml(_MEMSCALE.read_text(encoding="utf-8"))
    del content["steps"], content["repeat"]
    scenario = folder / "memscale.yaml"
    scenario.write_text(yaml.safe_dump(content), encoding="utf-8")
    return record(
        str(scenario),
        SECONDS,
        interval=30,
        deeds={at: partial(_switch, name, value) for name, (at, value) in DEEDS.items()},
        module=reading(*_COLLECTORS),
        metrics=metrics_in_rules() | {"ase_info"},
    )


@dataclass(frozen=True)
class Story:
    """url: of the Prometheus. start, end: Unix times of the first second and of the last."""

    url: str
    start: float

    @property
    def end(self) -> float:
        return self.start + SECONDS

    def at(self, change: str) -> float:
        """When a change was made."""
        return self.start + DEEDS[change][0]


@contextmanager
def stored(folder: Path) -> Iterator[Story]:
    """A Prometheus that holds the story, which ended a minute or two ago. folder: for its files."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    start = (time.time() - 60) // 60 * 60 - SECONDS
    with prometheus_with(recorded(folder).openmetrics(SERVER, start), folder) as url:
        yield Story(url, start)
