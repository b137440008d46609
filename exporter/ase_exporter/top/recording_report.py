"""A report on a recording of `top`, in the order of AWR: load, waits, statements, objects, blocking, I/O, space."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
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


def recording_page(path: Path, catalogue: Catalogue) -> str:
    """The report as HTML. Raises UserError for what is no recording, and one in which no server answered twice."""
    frames, failed, rates = read_recording(ReplayFeed(path, catalogue))
    if len(frames) < 2:
        raise UserError(f"--recording {path}: expected two samples or more in which the server answered")
    last = frames[-1]
    worst = max(frames, key=lambda each: each.diagnosis.rank)
    blocked = max(frames, key=lambda each: each.figures.blocked_processes or 0.0)
    sessions = [each.sample.sessions for each in frames if each.sample.sessions]
    objects = Counter(
        each.object for snapshot in sessions for each in snapshot.sessions if each.active and each.object
    )
    return render(
        "recording.html",
        title=f"{last.sample.target}: recording of ASE {last.sample.version}",
        first=frames[0].sample.at,
        last=last,
        samples=len(frames),
        failed=failed,
        worst=worst,
        words=_ranked(Counter(each.diagnosis.word for each in frames)),
        load=load_profile(rates),
        account=_mean(each.diagnosis.account.parts for each in frames),
        transactions=rates.get(COUNTERS[0].title),
        waits=_mean({wait.event: wait.seconds for wait in each.figures.waits} for each in frames),
        statements=_statements(each.statements for each in sessions),
        objects=[(name, number / len(sessions)) for name, number in _ranked(objects)],
        has_sessions=bool(sessions),
        blocked=blocked,
        links=blocking_trees(blocked.sample.sessions.sessions)[:MAX_ROWS] if blocked.sample.sessions else [],
        devices=_mean({device.name: device.ios for device in each.figures.devices} for each in frames),
        spaces=sorted(last.figures.spaces, key=lambda each: -each.used)[:MAX_ROWS],
    )


def read_recording(feed: ReplayFeed) -> tuple[list[Frame], int, Mapping[str, float]]:
    """The frames with rates, the number of samples without an answer, and growth per second by title of the load."""
    growth, frames, failed = _Growth(), list[Frame](), 0
    for sample, frame in feed.moments():
        growth.note(sample)
        if sample.error:
            failed += 1
        # The first samples have no rates yet.
        elif frame.figures.seconds:
            frames.append(frame)
    return frames, failed, growth.rates()


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
