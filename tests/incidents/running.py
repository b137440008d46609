"""Incidents in simulated time: what `top` and the diagnosis say of each, sample by sample.

An incident that the simulator's model can express is a step of a scenario. Of the others, what ASE would show is laid
over the scrapes of a healthy simulated server: rates and values at the level of the exporter's metrics.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from tests.exporter.top.watching import SCENARIOS, catalogue, watched

from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.diagnosis.provenance import collector_of
from ase_exporter.metrics.families import Family, Kind
from ase_exporter.top.samples import LabelValues, Reading, Sample, Tracker
from ase_exporter.top.sampling import windowed_counters

FILE = Path(__file__).with_name("incidents.yaml")
HEALTHY = "quiet-oltp"
# Seconds: between samples, of the time before the fault, and of the fault. The scenario begins before the samples.
INTERVAL, BEFORE, AFTER, WARM_UP = 5, 20, 45, 60
OUTAGE = 30
CPU, THREADS = "ase_engine_cpu_seconds_total", "ase_thread_cpu_seconds_total"
POOL = "syb_default_pool"


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth(Strict):
    """first: findings of which one must come first. also: others that must be found. The rest: regular expressions."""

    first: Sequence[str]
    also: Sequence[str] = ()
    about: str = ""
    remedy: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlay(Strict):
    """What the series of a metric with these labels show: a value, or more growth per second, or times theirs."""

    metric: str
    labels: Mapping[str, str] = field(default_factory=dict)
    value: float | None = None
    adds: float = 0.0
    times: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident(Strict):
    """One incident; the comments in incidents.yaml describe the fields."""

    title: str
    truth: Truth
    mixed: bool = False
    scenario: str = ""
    step: str = ""
    server: Mapping[str, Any] = field(default_factory=dict)
    fault: Mapping[str, Any] = field(default_factory=dict)
    work: float = 1.0
    busy: Mapping[str, float] = field(default_factory=dict)
    received: float = 1.0
    series: Sequence[Overlay] = ()
    outage: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Incidents(Strict):
    """The whole file."""

    incidents: Mapping[str, Incident]


@cache
def incidents() -> Mapping[str, Incident]:
    return yaml_files.load(FILE, Incidents).incidents


def samples(incident: Incident) -> list[Sample]:
    """All samples, BEFORE seconds of them before the fault, then those of the fault."""
    if incident.scenario:
        return list(_scraped(yaml.safe_dump(_scenario(incident), sort_keys=False)))
    return list(_overlaid(incident, _healthy()))


def _scenario(incident: Incident) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((SCENARIOS / f"{incident.scenario}.yaml").read_text())
    steps = [
        each for each in content.pop("steps", ()) if incident.step and each["name"].startswith(incident.step)
    ]
    fault = {**(steps[0] if steps else {}), **incident.fault, "name": "fault", "seconds": 86400}
    content.update(incident.server)
    content["steps"] = [{"name": "before", "seconds": WARM_UP + BEFORE - 1}, fault]
    content["repeat"] = False
    return content


def _scraped(scenario: str) -> Iterator[Sample]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(scenario)
        with watched(str(file), interval=INTERVAL, warm_up=WARM_UP) as watching:
            for number in range((BEFORE + AFTER) // INTERVAL):
                passed = INTERVAL if number else 0
                watching.time.ahead += passed
                watching.run.ask(partial(watching.server.world.clock.advance, passed))
                yield watching.sampler.take()


@cache
def _healthy() -> tuple[Sample, ...]:
    return tuple(_scraped((SCENARIOS / f"{HEALTHY}.yaml").read_text()))


def _overlaid(incident: Incident, healthy: Sequence[Sample]) -> Iterator[Sample]:
    """The samples of a healthy server, with the fault laid over what was read."""
    tracker = Tracker(windowed_counters(catalogue()))
    begins = healthy[0].monotonic + BEFORE - INTERVAL
    known: dict[str, tuple[Reading, Family]] = {}
    start: dict[str, Reading] = {}
    for sample in healthy:
        since = sample.monotonic - begins
        if incident.outage and 0 < since <= OUTAGE:
            tracker.forget()
            continue
        if since <= 0:
            start = {name: series.last for name, series in sample.series.items()}
        collected: dict[str, list[Family]] = {}
        for name, reading in _shown(incident, sample, start, max(0.0, since)).items():
            before = known.get(name)
            if before is None or before[0].at != reading.at:
                kind: Kind = "counter" if name.endswith("_total") else "gauge"
                known[name] = before = (
                    reading,
                    Family(name, kind, "", reading.labels, list(reading.values.items())),
                )
            collected.setdefault(collector_of(name), []).append(before[1])
        tracker.note(sample.monotonic, collected)
        yield replace(sample, series=tracker.series())


def _shown(
    incident: Incident, sample: Sample, start: Mapping[str, Reading], since: float
) -> dict[str, Reading]:
    found = {name: series.last for name, series in sample.series.items()}
    if since <= 0:
        return found
    for name, reading in found.items():
        if name.endswith("_total") and name in start:
            found[name] = replace(reading, values=_slowed(reading.values, start[name].values, incident.work))
    if CPU in found:
        engines = _engines(incident, found[CPU].values, start[CPU].values, since)
        found[CPU] = replace(found[CPU], values=engines)
        if incident.busy or incident.received != 1:
            found[THREADS] = replace(found[THREADS], values=_threads(incident, start[THREADS].values, since))
    for overlay in incident.series:
        empty = Reading(sample.monotonic, tuple(sorted(overlay.labels)), {})
        reading = found.get(overlay.metric, empty)
        first = start.get(overlay.metric, empty).values
        found[overlay.metric] = replace(reading, values=_laid(overlay, reading, first, since))
    return found


def _slowed(
    values: Mapping[LabelValues, float], start: Mapping[LabelValues, float], work: float
) -> dict[LabelValues, float]:
    return {key: start.get(key, 0.0) + work * (value - start.get(key, 0.0)) for key, value in values.items()}


def _engines(
    incident: Incident, values: Mapping[LabelValues, float], start: Mapping[LabelValues, float], since: float
) -> dict[LabelValues, float]:
    """CPU seconds by engine and mode: what is not busy is idle."""
    found = dict(values)
    for engine in {key[0] for key in values}:
        own = incident.busy.get(engine, incident.busy.get("*"))
        if own is not None:
            found[engine, "user"] = start[engine, "user"] + own * since
            found[engine, "system"] = start[engine, "system"]
        found[engine, "io"] = start[engine, "io"]
        used = sum(found[engine, mode] - start[engine, mode] for mode in ("user", "system"))
        found[engine, "idle"] = start[engine, "idle"] + since - used
    return found


def _threads(
    incident: Incident, start: Mapping[LabelValues, float], since: float
) -> dict[LabelValues, float]:
    found = dict(start)
    for key in start:
        if key[0] == "user" and key[1] == POOL:
            own = incident.busy.get(key[2], incident.busy.get("*", 0.0))
            found[key] += own * incident.received * since
    return found


def _laid(
    overlay: Overlay, reading: Reading, start: Mapping[LabelValues, float], since: float
) -> dict[LabelValues, float]:
    found = dict(reading.values)
    wanted = overlay.labels.items()
    keys = [key for key in found if wanted <= dict(zip(reading.labels, key, strict=True)).items()]
    for key in keys or [tuple(overlay.labels[label] for label in reading.labels)]:
        first = start.get(key, 0.0)
        growth = overlay.times * (found.get(key, first) - first) + overlay.adds * since
        found[key] = overlay.value if overlay.value is not None else first + growth
    return found
