"""Incidents in simulated time: what `top` and the diagnosis say of each, sample by sample.

An incident that the simulator's model can express is a step of a scenario. Of the others, what ASE would show is laid
over the scrapes of a healthy simulated server: rates and values at the level of the exporter's metrics.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from tests.exporter.top.watching import SCENARIOS, Watched, watched

from ase_exporter.assets import load_yaml
from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.diagnosis.diagnose import BLOCKED
from ase_exporter.diagnosis.provenance import collector_of
from ase_exporter.metrics.families import Family, Kind
from ase_exporter.readings.samples import LabelValues, Reading, Sample, Tracker
from ase_exporter.sessions.session import Session, Snapshot

FILE, FIELD = (Path(__file__).with_name(name) for name in ("incidents.yaml", "field.yaml"))
HEALTHY = "quiet-oltp"
# Seconds: between samples, and of the time before the fault. The scenario begins before the samples.
INTERVAL, BEFORE, WARM_UP = 5, 20, 60
OUTAGE = 30
CPU, THREADS = "ase_engine_cpu_seconds_total", "ase_thread_cpu_seconds_total"
POOL = "syb_default_pool"
Values = Mapping[LabelValues, float]
# What a server of another size has more or fewer of, and what it holds for longer or shorter.
SCALED_OPTIONS = ("max online engines", "number of user connections", "number of locks", "max memory")


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth(Strict):
    """The comments in incidents.yaml describe the fields."""

    first: Sequence[str]
    also: Sequence[str] = ()
    about: str = ""
    changed: str = ""
    remedy: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlay(Strict):
    """What the series of a metric with these labels show: a value, or more growth per second.

    per_engine: value and growth are those of a server of eight engines; of others they follow the engines.
    """

    metric: str
    labels: Mapping[str, str] = field(default_factory=dict)
    value: float | None = None
    adds: float = 0.0
    per_engine: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident(Strict):
    """One incident; the comments in incidents.yaml describe the fields."""

    title: str
    truth: Truth
    number: int | None = None
    seconds: int = 45
    scenario: str = ""
    step: str = ""
    server: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    fault: Mapping[str, Any] = field(default_factory=dict)
    work: float = 1.0
    busy: Mapping[str, float] = field(default_factory=dict)
    received: float = 1.0
    series: Sequence[Overlay] = ()
    outage: bool = False


@cache
def incidents(file: Path = FILE) -> Mapping[str, Incident]:
    return yaml_files.load(file, dict[str, dict[str, Incident]])["incidents"]


@dataclass(frozen=True)
class Site:
    """A server of a scenario, at another size. seed: of its counters. engines: 0 for those of the scenario."""

    seed: int = 1
    engines: int = 0


@dataclass(frozen=True)
class Taken:
    """The samples before a fault and of it. spinning: the share of the CPU that spins in the model at the end."""

    before: Sequence[Sample]
    after: Sequence[Sample]
    spinning: float


def take(incident: Incident, site: Site) -> Taken:
    """The samples of an incident. The fault of a scenario begins a second before the first sample of it."""
    if incident.scenario:
        scraped, spinning = _scraped(_scenario(incident, site), incident.seconds, site)
    else:
        healthy, spinning = _healthy(site, incident.seconds)
        scraped = list(_overlaid(incident, healthy, site))
    return Taken(scraped[: BEFORE // INTERVAL], scraped[BEFORE // INTERVAL :], spinning)


def _scenario(incident: Incident, site: Site) -> dict[str, Any]:
    content = read(incident.scenario)
    named = (each for each in content.pop("steps", ()) if each["name"].startswith(incident.step))
    step: dict[str, Any] = next(named, {}) if incident.step else {}
    fault = {**step, **incident.fault, "name": "fault", "seconds": 86400}
    before = {**incident.before, "name": "before", "seconds": WARM_UP + BEFORE - 1}
    return sized(content | dict(incident.server) | {"steps": [before, fault], "repeat": False}, site)


def read(scenario: str) -> dict[str, Any]:
    content: dict[str, Any] = load_yaml((SCENARIOS / f"{scenario}.yaml").read_text())
    return content


@cache
def _usual_engines() -> int:
    return int(read(HEALTHY)["engines"])


def sized(content: dict[str, Any], site: Site) -> dict[str, Any]:
    """A scenario with another number of engines, as busy and as contended."""
    content = deepcopy(content)
    steps = content.get("steps", [])
    factor = (site.engines or content["engines"]) / content["engines"]
    content["engines"] = ceil(factor * content["engines"])
    for option in SCALED_OPTIONS:
        if option in content["options"]:
            content["options"][option] = ceil(factor * content["options"][option])
    workloads = [content["workload"], *(each.get("workload", {}) for each in steps)]
    for holder, name in [*((step, "engines") for step in steps), *((each, "users") for each in workloads)]:
        if name in holder:
            holder[name] = ceil(factor * holder[name])
    for workload in workloads:
        # More engines grab more often: they contend as much if they hold for less long.
        for held in (*workload.get("caches", {}).values(), *workload.get("spinlocks", {}).values()):
            if "hold_ns" in held:
                held["hold_ns"] /= factor
    return content


@contextmanager
def served(scenario: dict[str, Any], site: Site, **options: Any) -> Iterator[Watched]:
    """The server of a scenario. options: of `watched`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump(scenario, sort_keys=False))
        with watched(str(file), seed=site.seed, **options) as watching:
            yield watching


def _scraped(scenario: dict[str, Any], seconds: int, site: Site) -> tuple[list[Sample], float]:
    """Samples, and the share of the CPU that spins at the end."""
    with served(scenario, site, interval=INTERVAL, warm_up=WARM_UP) as watching:
        count = (BEFORE + seconds) // INTERVAL
        taken = [watching.sample(INTERVAL if number else 0) for number in range(count)]
        world = watching.server.world
        spinning = watching.run.ask(lambda: world.operation.point.spinning / len(world.online))
    return taken, float(spinning)


@cache
def _healthy(site: Site, seconds: int) -> tuple[list[Sample], float]:
    return _scraped(sized(read(HEALTHY), site), seconds, site)


def _overlaid(incident: Incident, healthy: Sequence[Sample], site: Site) -> Iterator[Sample]:
    """The samples of a healthy server, with the fault laid over what was read."""
    size = site.engines or _usual_engines()
    tracker = Tracker()
    begins = healthy[0].monotonic + BEFORE - INTERVAL
    known: dict[str, tuple[float, Family]] = {}
    start: dict[str, Reading] = {}
    for sample in healthy:
        since = sample.monotonic - begins
        if incident.outage and 0 < since <= OUTAGE:
            tracker.forget()
            continue
        if since <= 0:
            start = {name: series.last for name, series in sample.series.items()}
        collected: dict[str, list[Family]] = {}
        shown = _shown(incident, sample, start, max(0.0, since), size)
        for name, reading in shown.items():
            if name not in known or known[name][0] != reading.at:
                kind: Kind = "counter" if name.endswith("_total") else "gauge"
                family = Family(name, kind, "", reading.labels, list(reading.values.items()))
                known[name] = (reading.at, family)
            collected.setdefault(collector_of(name), []).append(known[name][1])
        tracker.note(sample.monotonic, collected)
        yield replace(sample, series=tracker.series(), sessions=_blocked(sample, shown.get(BLOCKED)))


def _blocked(sample: Sample, reading: Reading | None) -> Snapshot | None:
    """The sessions, with those that are blocked in the incident."""
    if sample.sessions is None or reading is None:
        return sample.sessions
    blocked = [
        (dict(zip(reading.labels, key, strict=True)), seconds) for key, seconds in reading.values.items()
    ]
    added = [
        Session(int(each["spid"]), 0, doing="lock", seconds=seconds, blocked_by=int(each["blocked_by"]))
        for each, seconds in blocked
    ]
    return replace(sample.sessions, sessions=(*sample.sessions.sessions, *added))


def _shown(
    incident: Incident, sample: Sample, start: Mapping[str, Reading], since: float, size: int
) -> dict[str, Reading]:
    found = {name: series.last for name, series in sample.series.items()}
    if since <= 0:
        return found
    for name, reading in found.items():
        if name.endswith("_total") and name in start:
            found[name] = replace(reading, values=_slowed(reading.values, start[name].values, incident.work))
    if CPU in found:
        engines = _engines(incident, found[CPU].values, start[CPU].values, since, size)
        found[CPU] = replace(found[CPU], values=engines)
        threads = _threads(incident, found[THREADS].values, start[THREADS].values, since, size)
        found[THREADS] = replace(found[THREADS], values=threads)
    for overlay in incident.series:
        empty = Reading(sample.monotonic, tuple(sorted(overlay.labels)), {})
        reading = found.get(overlay.metric, empty)
        first = start.get(overlay.metric, empty).values
        found[overlay.metric] = replace(reading, values=_laid(overlay, reading, first, since, size))
    return found


def _slowed(values: Values, start: Values, work: float) -> Values:
    return {key: start.get(key, 0.0) + work * (value - start.get(key, 0.0)) for key, value in values.items()}


def _busy(incident: Incident, engine: str, size: int) -> float | None:
    """The share for which an engine is busy; None if it is as busy as it was."""
    for which, share in incident.busy.items():
        if which == "*" or (which.startswith("<") and int(engine) < float(which[1:]) * size):
            return share
    return None


def _engines(incident: Incident, values: Values, start: Values, since: float, size: int) -> Values:
    """CPU seconds by engine and mode: what is not busy is idle."""
    found = dict(values)
    for engine in {key[0] for key in values}:
        grown = {mode: values[engine, mode] - start[engine, mode] for mode in ("user", "system")}
        if (share := _busy(incident, engine, size)) is not None:
            grown = {"user": share * since, "system": 0.0}
        for mode, seconds in {**grown, "io": 0.0, "idle": since - sum(grown.values())}.items():
            found[engine, mode] = start[engine, mode] + seconds
    return found


def _threads(incident: Incident, values: Values, start: Values, since: float, size: int) -> Values:
    """CPU seconds that the operating system gave each thread: of engines, of what they are busy for."""
    found = dict(values)
    for mode, pool, thread in values:
        share = _busy(incident, thread, size) if pool == POOL else None
        if share is not None:
            given = share * incident.received * since if mode == "user" else 0.0
            found[mode, pool, thread] = start[mode, pool, thread] + given
    return found


def _laid(overlay: Overlay, reading: Reading, start: Values, since: float, size: int) -> Values:
    factor = size / _usual_engines() if overlay.per_engine else 1.0
    found = dict(reading.values)
    wanted = overlay.labels.items()
    keys = [key for key in found if wanted <= dict(zip(reading.labels, key, strict=True)).items()]
    for key in keys or [tuple(overlay.labels[label] for label in reading.labels)]:
        first = start.get(key, 0.0)
        growth = found.get(key, first) - first + factor * overlay.adds * since
        found[key] = factor * overlay.value if overlay.value is not None else first + growth
    return found
