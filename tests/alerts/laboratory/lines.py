"""The time lines of the laboratory: what is scraped over time, when alerts should page and when not.

time_lines.yaml holds them as data: the series of a healthy server that every time line has, the time lines, and the
variations in which scrapes are lost.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from tests.alerts.laboratory.signals import Value, samples, seconds

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue
from ase_exporter.config.fields import Strict, Validator

DATA = Path(__file__).parent / "time_lines.yaml"
# Seconds between scrapes by family: the shipped rules at their interval, the same over days, and rules for others.
INTERVALS = {"hours": 15, "days": 60, "minute": 60, "five minutes": 300}
# Families of the rules for other intervals. They must page within two intervals of what the shipped rules promise.
SLOWER = ("minute", "five minutes")
# Variations are of time lines that last at most so long, in seconds.
VARIED = 3600
# What hides what: an exporter that is away says nothing of its server.
_WORSE = ["", "server", "exporter", "prometheus"]


Moment = Annotated[float, Validator(seconds, before=True)]


@dataclass(frozen=True, kw_only=True)
class Page(Strict):
    """When an alert must fire: not before `start`, at the latest at `by`, at least until `until`, no longer than
    `ends`."""

    by: Moment
    start: Annotated[Moment, Field(alias="from")] = 0
    until: Moment = 0
    ends: Moment = math.inf


@dataclass(frozen=True, kw_only=True)
class TimeLine(Strict):
    """What happens to one server, as time_lines.yaml describes it. full: when what fills is full."""

    name: str
    lasts: Moment
    family: str = "hours"
    series: Mapping[str, Any] = field(default_factory=dict)
    pages: Mapping[str, Page] = field(default_factory=dict)
    may: Sequence[str] = ()
    never: Sequence[str] = ()
    lost: Sequence[Mapping[str, Any]] = ()
    vary: bool = True
    slower: bool = True
    copies: Sequence[Mapping[str, str]] = ({},)
    full: Moment = 0
    variation: str = ""

    @property
    def title(self) -> str:
        return f"{self.name}, {self.variation}" if self.variation else self.name


@cache
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = load_yaml(DATA.read_text())
    return loaded


def known_faults() -> dict[str, str]:
    """Title of a time line -> what is wrong in it and not put right yet."""
    faults: dict[str, str] = _data()["known"]
    return faults


def time_lines() -> list[TimeLine]:
    """All time lines, each followed by its variations, and by itself at longer intervals."""
    written = [_filled(data, values) for data in _data()["time_lines"] for values in data.get("each", [{}])]
    lines = [each for line in TypeAdapter(list[TimeLine]).validate_python(written) for each in _varied(line)]
    return [*lines, *(slower for line in lines for slower in _slower(line))]


def _filled(part: Any, values: Mapping[str, Any]) -> Any:
    """A part of a time line with values in place of {key}."""
    if isinstance(part, Mapping):
        return {_filled(key, values): _filled(value, values) for key, value in part.items() if key != "each"}
    if isinstance(part, list):
        return [_filled(each, values) for each in part]
    if not isinstance(part, str):
        return part
    for key, value in values.items():
        if part == f"{{{key}}}":
            return value
        part = part.replace(f"{{{key}}}", str(value))
    return part


def _varied(line: TimeLine) -> Iterator[TimeLine]:
    yield line
    if not line.vary:
        return
    for name, variation in _data()["variations"].items():
        if line.family == "hours" and line.lasts <= VARIED:
            yield replace(
                line,
                variation=name,
                lost=[*line.lost, variation["lost"]],
                pages={
                    alerts: replace(page, by=page.by + seconds(variation["slack"]))
                    for alerts, page in line.pages.items()
                },
            )


def _slower(line: TimeLine) -> Iterator[TimeLine]:
    """It at the intervals of other rules, unless it loses every nth scrape, or is about seconds."""
    if (
        line.family != "hours"
        or line.variation
        or not line.slower
        or any("from" not in lost for lost in line.lost)
    ):
        return
    for family in SLOWER:
        later = 2 * INTERVALS[family]
        yield replace(
            line,
            family=family,
            variation=f"every {family}",
            lasts=line.full + 120 if line.full else line.lasts + 2 * later,
            pages={
                alerts: replace(page, by=min(page.by + later, line.full or math.inf))
                for alerts, page in line.pages.items()
            },
        )


def input_series(line: TimeLine, identity: str) -> Iterator[dict[str, str]]:
    """The series of a time line as promtool takes them; identity: the label `job` of its targets."""
    interval = INTERVALS[line.family]
    times = [float(step * interval) for step in range(round(line.lasts / interval) + 1)]
    lost = _lost(line, times)
    for name, shape in {**_data()["always"], **_data()["healthy"], **line.series}.items():
        if shape is not None:
            values = samples(shape, times, seed=line.title + name)
            values = _read(values, times, lost, _read_every().get(name.partition("{")[0], 0))
            seen = [_seen(name, value, how) for value, how in zip(values, lost, strict=True)]
            for copy in line.copies:
                yield {"series": _labelled(name, identity, copy), "values": _notation(seen)}


@cache
def _read_every() -> dict[str, float]:
    """Seconds between two readings of each metric by the exporter; 0 is every scrape."""
    collectors = load_catalogue()[0].collectors.values()
    return {metric: collector.interval for collector in collectors for metric in collector.metrics}


def _read(values: Sequence[Value], times: Sequence[float], lost: Sequence[str], every: float) -> list[Value]:
    """What the exporter exposes: the last reading of its collector, until the next one is due."""
    found: list[Value] = []
    at = -math.inf
    for value, time, how in zip(values, times, lost, strict=True):
        due = not how and time - at >= every
        at = time if due else at
        found.append(value if due or not found else found[-1])
    return found


def _labelled(name: str, identity: str, copy: Mapping[str, str]) -> str:
    """A series with the labels of its target. Each time line is a job of its own, so that none sees another one."""
    metric, _, labels = name.rstrip("}").partition("{")
    target = {"job": identity, "instance": "P1", **copy}
    matchers = [*(f'{key}="{value}"' for key, value in target.items()), *filter(None, [labels])]
    return metric + "{" + ",".join(matchers) + "}"


def _seen(name: str, value: Value, lost: str) -> str:
    """The sample that Prometheus stores of a series; lost: the server, the exporter, Prometheus or ""."""
    metric = name.partition("{")[0]
    if lost == "prometheus":
        return "_"
    if lost and metric == "up":
        return "0" if lost == "exporter" else "1"
    if lost and metric == "ase_up" and lost == "server":
        return "0"
    if lost or value is None:
        return "stale"
    return str(int(value)) if value == int(value) else f"{value:.10g}"


def _notation(values: Sequence[str]) -> str:
    """Runs of equal values as promtool abbreviates them. A series that ended stays ended without further markers."""
    parts: list[str] = []
    for value, run in groupby(values):
        more = len([*run]) - 1
        if value == "stale":
            parts.append("stale" if parts else "_")
            parts += [f"_x{more}"] if more else []
        elif value == "_":
            parts.append(f"_x{more + 1}")
        else:
            parts.append(f"{value}x{more}" if more else value)
    return " ".join(parts)


def _lost(line: TimeLine, times: Sequence[float]) -> list[str]:
    """How each scrape is lost, or "".

    `every: 12` loses each twelfth, `share` a random share, `from` and `for` an outage, which `repeat` repeats.
    """
    found = [""] * len(times)
    for each in line.lost:
        chance = random.Random(line.title)
        for index, time in enumerate(times):
            if time >= seconds(each.get("after", 0)) and _is_lost(each, index, time, chance):
                found[index] = max(found[index], each["of"], key=_WORSE.index)
    return found


def _is_lost(how: Mapping[str, Any], index: int, time: float, chance: random.Random) -> bool:
    if "every" in how:
        return bool((index % how["every"] == how["every"] - 1) != how.get("answers", False))
    if "share" in how:
        return bool(chance.random() < how["share"])
    since = time - seconds(how["from"])
    if "repeat" in how and since >= 0:
        since %= seconds(how["repeat"])
    return 0 <= since < seconds(how["for"])
