"""Scenario files: YAML -> servers, with errors that name the file and the key."""

from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import Field, ValidationError

from ase_simulator.contracts import ServerError
from ase_simulator.model.caches import Caches
from ase_simulator.model.clock import Clock
from ase_simulator.model.inventory import Inventory
from ase_simulator.model.options import Options
from ase_simulator.model.server import SimulatedServer
from ase_simulator.model.timeline import (
    CacheSettings,
    StepSettings,
    Timeline,
    apply_cache,
    changed_workload,
)
from ase_simulator.model.workload import DEFAULTS, Strict, Workload
from ase_simulator.model.world import World
from ase_simulator.yaml_text import load_yaml

DEFAULT_VERSION = "16.0 SP04"


class ScenarioError(Exception):
    """An invalid scenario: one line with file, key and what was expected."""


class Binding(Strict):
    """Objects of a database, or with none named all of it, go to a cache."""

    cache: str
    database: str
    objects: tuple[str, ...] = ()


class Member(Strict):
    """Servers of a fleet: `count` of them play another scenario. `{n}` in the name is replaced by their number."""

    scenario: str
    server: str
    count: int = Field(default=1, ge=1)
    version: str | None = None


class Scenario(Strict):
    """One scenario file, as docs/scenarios.md explains it."""

    name: str
    description: str = ""
    server: str = "ASESIM"
    version: str = DEFAULT_VERSION
    engines: int = Field(default=4, ge=1, le=1024)
    page_kb: Literal[2, 4, 8, 16] = 4
    monitoring: bool = True
    time_zone: str = "UTC"
    up_hours: float = Field(default=0.0, ge=0)
    static_options: Literal["restart", "at_once"] = "restart"
    wrap: Literal["zero", "negative"] = "zero"
    wrap_in: float | None = Field(default=None, gt=0)
    options: dict[str, int | str] = Field(default={})
    caches: dict[str, CacheSettings] = Field(default={})
    bindings: tuple[Binding, ...] = ()
    workload: Workload = Workload()
    steps: tuple[StepSettings, ...] = ()
    repeat: bool = False
    fleet: tuple[Member, ...] = ()


def names() -> list[str]:
    """The scenarios that come with the simulator."""
    files = resources.files("ase_simulator").joinpath("scenarios").iterdir()
    return sorted(Path(str(file)).stem for file in files if str(file).endswith(".yaml"))


def read(name_or_path: str) -> Scenario:
    """A scenario by its name or by the path of a file. Raises ScenarioError."""
    path = Path(name_or_path)
    if name_or_path in names():
        text = resources.files("ase_simulator").joinpath(f"scenarios/{name_or_path}.yaml").read_text("utf-8")
    elif path.is_file():
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"{name_or_path}: cannot be read: {error}") from error
    else:
        raise ScenarioError(
            f"{name_or_path}: no such scenario; there are {', '.join(names())}, or name a file"
        )
    try:
        return Scenario.model_validate(load_yaml(text))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{name_or_path}: not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ScenarioError(f"{name_or_path}: {place}: {first['msg']}") from error


def load_scenario(
    name_or_path: str,
    *,
    seed: int = 1,
    speed: float = 1.0,
    version: str | None = None,
    start: datetime | None = None,
) -> Sequence[SimulatedServer]:
    """The servers of a scenario, with clocks at `speed` (0: moved only by hand).

    version: of every server, in place of the scenario's own. start: simulated date of the beginning (UTC, naive), by
    default now. Raises ScenarioError.
    """
    scenario = read(name_or_path)
    members = scenario.fleet or (Member(scenario=name_or_path, server=scenario.server),)
    servers: list[SimulatedServer] = []
    for member in members:
        part = read(member.scenario) if scenario.fleet else scenario
        if scenario.fleet and part.fleet:
            raise ScenarioError(f"{name_or_path}: fleet: {member.scenario} is a fleet itself")
        for number in range(1, member.count + 1):
            try:
                name = member.server.format(n=number)
                chosen = version or member.version or part.version
                clock = Clock(speed, start, zone=ZoneInfo(part.time_zone))
                servers.append(_build(part, name, seed + len(servers), clock, chosen))
            except ZoneInfoNotFoundError as error:
                raise ScenarioError(f"{member.scenario}: time_zone: {error.args[0]}") from error
            except ServerError as error:
                raise ScenarioError(f"{member.scenario}: {error}") from error
            except (ValueError, KeyError, IndexError) as error:
                raise ScenarioError(f"{member.scenario}: {error}") from error
    return servers


def _build(scenario: Scenario, name: str, seed: int, clock: Clock, version: str) -> SimulatedServer:
    at_once = scenario.static_options == "at_once"
    world = World(
        name=name,
        version=version,
        seed=seed,
        clock=clock,
        options=Options(version, at_once=at_once),
        caches=Caches(scenario.page_kb, at_once=at_once),
        workload=scenario.workload,
        inventory=Inventory(scenario.workload, scenario.page_kb),
        online=[],
        scenario=scenario.name,
        negative_wrap=scenario.wrap == "negative",
    )
    engines = {"max online engines": scenario.engines, "number of engines at startup": scenario.engines}
    devices = {"number of devices": max(10, len(world.inventory.devices) + 1)}
    wanted = engines | devices | (DEFAULTS["monitoring"] if scenario.monitoring else {}) | scenario.options
    if "max memory" in scenario.options:
        wanted = {"max memory": scenario.options["max memory"], **wanted}
    for option, value in wanted.items():
        if world.options.has(option):
            world.options.set(option, value)
    world.caches.default_partitions = world.options.find("global cache partition number").configured
    for cache, settings in scenario.caches.items():
        apply_cache(world, cache, settings)
    for binding in scenario.bindings:
        for object_name in binding.objects or (None,):
            world.caches.bind(binding.cache, binding.database, object_name)
    for step in scenario.steps:
        changed_workload(scenario.workload, step)
    world.restart(scenario.wrap_in)
    world.started = world.cleared = -3600 * scenario.up_hours
    return SimulatedServer(world, Timeline(scenario.steps, repeat=scenario.repeat))
