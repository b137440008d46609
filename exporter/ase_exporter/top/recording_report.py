"""A report on a recording of `top`, in the order of AWR: load, waits, statements, objects, blocking, I/O, space."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from ase_exporter.catalogue import Catalogue
from ase_exporter.diagnosis.load_profile import COUNTERS, MAX_ROWS, load_profile, mean_by_name, ranked
from ase_exporter.errors import UserError
from ase_exporter.pages.render import render
from ase_exporter.sessions.blocking import blocking_trees
from ase_exporter.sessions.statements import summed_statements
from ase_exporter.top.frames import Frame
from ase_exporter.top.recording import ReplayFeed
from ase_exporter.top.samples import Sample


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
        words=ranked(Counter(each.diagnosis.word for each in frames)),
        load=load_profile(rates),
        account=mean_by_name(each.diagnosis.account.parts for each in frames),
        transactions=rates.get(COUNTERS[0].title),
        waits=mean_by_name({wait.event: wait.seconds for wait in each.figures.waits} for each in frames),
        statements=summed_statements(each.statements for each in sessions)[:MAX_ROWS],
        objects=[(name, number / len(sessions)) for name, number in ranked(objects)],
        has_sessions=bool(sessions),
        blocked=blocked,
        links=blocking_trees(blocked.sample.sessions.sessions)[:MAX_ROWS] if blocked.sample.sessions else [],
        unread=next(filter(None, (each.unread for each in sessions)), ""),
        devices=mean_by_name({device.name: device.ios for device in each.figures.devices} for each in frames),
        spaces=sorted(last.figures.space, key=lambda each: -each.used)[:MAX_ROWS],
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
