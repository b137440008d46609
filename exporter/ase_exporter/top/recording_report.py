"""A report on a recording of `top`, in the order of AWR: load, waits, statements, objects, blocking, I/O, space."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ase_exporter.catalogue import Catalogue
from ase_exporter.diagnosis.load_profile import COUNTERS, load_profile
from ase_exporter.errors import UserError
from ase_exporter.pages.render import render
from ase_exporter.sessions.blocking import blocking_trees
from ase_exporter.sessions.statements import StatementCost, summed
from ase_exporter.top.frames import Frame
from ase_exporter.top.recording import ReplayFeed
from ase_exporter.top.samples import Sample

# Rows of each table.
MAX_ROWS = 15


class _Growth:
    """Sums what counters grew by from sample to sample, and over which time: gaps count for nothing."""

    def __init__(self) -> None:
        self._grown: defaultdict[str, float] = defaultdict(float)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._read_at: dict[str, float] = {}

    def note(self, sample: Sample) -> None:
        for each in COUNTERS:
            series = sample.series.get(each.metric)
            # A table that was not read again is there with its last readings.
            if series is None or self._read_at.get(each.metric) == series.last.at:
                continue
            self._read_at[each.metric] = series.last.at
            if series.before is None:
                continue
            before = series.before.values
            self._seconds[each.title] += series.last.at - series.before.at
            self._grown[each.title] += sum(
                value - before[values]
                for values, value in series.last.values.items()
                if values in before and each.counts(dict(zip(series.last.labels, values, strict=True)))
            )

    def rates(self) -> dict[str, float]:
        """Growth per second by title."""
        return {title: self._grown[title] / seconds for title, seconds in self._seconds.items() if seconds}


@dataclass(frozen=True, slots=True)
class _Read:
    """Of the samples in which the server answered."""

    frames: list[Frame]
    failed: int
    rates: Mapping[str, float]


def recording_page(path: Path, catalogue: Catalogue) -> str:
    """The report as HTML. Raises UserError for what is no recording, and one in which no server answered twice."""
    read = _read(ReplayFeed(path, catalogue))
    if len(read.frames) < 2:
        raise UserError(f"--recording {path}: expected two samples or more in which the server answered")
    last = read.frames[-1]
    worst = max(read.frames, key=lambda each: each.diagnosis.rank)
    blocked = max(read.frames, key=lambda each: each.figures.blocked_processes or 0.0)
    sessions = [each.sample.sessions for each in read.frames if each.sample.sessions]
    objects = Counter(
        each.object for snapshot in sessions for each in snapshot.sessions if each.active and each.object
    )
    return render(
        "recording.html",
        title=f"{last.sample.target}: recording of ASE {last.sample.version}",
        first=read.frames[0].sample.at,
        last=last,
        samples=len(read.frames),
        failed=read.failed,
        worst=worst,
        words=_ranked(Counter(each.diagnosis.word for each in read.frames)),
        load=load_profile(read.rates),
        account=_mean(each.diagnosis.account.parts for each in read.frames),
        transactions=read.rates.get(COUNTERS[0].title),
        waits=_mean({wait.event: wait.seconds for wait in each.figures.waits} for each in read.frames),
        statements=_statements(each.statements for each in sessions),
        objects=[(name, number / len(sessions)) for name, number in _ranked(objects)],
        has_sessions=bool(sessions),
        blocked=blocked,
        links=blocking_trees(blocked.sample.sessions.sessions)[:MAX_ROWS] if blocked.sample.sessions else [],
        devices=_mean({device.name: device.ios for device in each.figures.devices} for each in read.frames),
        spaces=sorted(last.figures.spaces, key=lambda each: -each.used)[:MAX_ROWS],
    )


def _read(feed: ReplayFeed) -> _Read:
    growth, frames, failed = _Growth(), list[Frame](), 0
    for sample, frame in feed.moments():
        growth.note(sample)
        if sample.error:
            failed += 1
        # The first samples have no rates yet.
        elif frame.figures.seconds:
            frames.append(frame)
    return _Read(frames, failed, growth.rates())


def _mean(found: Iterable[Mapping[str, float]]) -> list[tuple[str, float]]:
    """The means over all frames by name, the largest first; a name that a frame lacks was 0 in it."""
    frames = list(found)
    names = {name for each in frames for name in each}
    means = {name: math.fsum(each.get(name, 0.0) for each in frames) / len(frames) for name in names}
    return _ranked({name: mean for name, mean in means.items() if mean})


def _ranked(found: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(found.items(), key=lambda row: -row[1])[:MAX_ROWS]


def _statements(readings: Iterable[Any]) -> list[StatementCost]:
    """What statements cost in all readings of the caches together, by CPU. A reading stands in several samples."""
    total: dict[tuple[str, str], StatementCost] = {}
    for reading in {id(each): each for each in readings}.values():
        for each in reading:
            key = each.name, each.database
            total[key] = summed(total[key], each) if key in total else each
    return sorted(total.values(), key=lambda each: (-(each.cpu or 0.0), -(each.reads or 0.0)))[:MAX_ROWS]
