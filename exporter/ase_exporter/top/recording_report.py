"""A report on a recording of `top`, in the order of AWR: load, waits, statements, objects, blocking, I/O, space."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ase_exporter.catalogue import Catalogue
from ase_exporter.diagnosis.load_profile import (
    COUNTERS,
    MAX_ROWS,
    load_profile,
    load_section,
    mean_by_name,
    ranked,
    ranked_section,
)
from ase_exporter.errors import UserError
from ase_exporter.readings.samples import Sample
from ase_exporter.sessions.blocking import Link, blocking_trees
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sessions.statements import StatementCost, summed_statements
from ase_exporter.top.feed import ReplayFeed
from ase_exporter.top.figures import Figures
from ase_exporter.top.frames import Frame
from ase_exporter.views.figures import counted, duration, moment, shown, zone
from ase_exporter.views.view import Cell, Items, Line, Part, Section, Table, Verdict, View, columns

# Steps of a chain that are indented.
MAX_DEPTH = 8


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


def recording_view(path: Path, catalogue: Catalogue) -> View:
    """The report. Raises UserError for what is no recording, and one in which no server answered twice."""
    frames, failed, rates = read_recording(ReplayFeed(path, catalogue).moments())
    if len(frames) < 2:
        raise UserError(f"--recording {path}: expected two samples or more in which the server answered")
    last = frames[-1]
    worst = max(frames, key=lambda each: each.diagnosis.rank)
    sessions = [each.sample.sessions for each in frames if each.sample.sessions]
    objects = Counter(
        each.object for snapshot in sessions for each in snapshot.sessions if each.active and each.object
    )
    words = ranked(Counter(each.diagnosis.word for each in frames))
    told = ", ".join(f"{word} in {count:.0f}" for word, count in words)
    more = f"; {failed} more without an answer" if failed else ""
    span = f"{moment(frames[0].sample.at)} to {moment(last.sample.at)} {zone(last.sample.at)}"
    samples = f"{span}, {counted(len(frames), 'sample')}"
    devices = ({device.name: device.ios for device in each.figures.devices} for each in frames)
    waits = ({wait.event: wait.seconds for wait in each.figures.waits} for each in frames)
    changes = [change.describe() for change in last.sample.changes]
    missing = [f"{name.replace('_', ' ')} ({why})" for name, why in last.sample.missing.items()]
    unread = f" Not read: {', '.join(missing)}." if missing else ""
    none = "there was none, or it was not recorded"
    return View(
        f"{last.sample.target}: recording of ASE {last.sample.version}",
        [
            Verdict(
                f"Worst at {moment(worst.sample.at)}: {worst.diagnosis.sentence}. In all samples: {told}.",
                worst.diagnosis.level,
            ),
            Line(f"{samples}{more}."),
            load_section(load_profile(rates)),
            _account(
                mean_by_name(each.diagnosis.account.parts for each in frames), rates.get(COUNTERS[0].title)
            ),
            ranked_section("Waits", "event", "seconds per second", mean_by_name(waits), none),
            _statements(summed_statements(each.statements for each in sessions)[:MAX_ROWS]),
            ranked_section(
                "Objects",
                "object",
                "active sessions on it, on average",
                [(name, number / len(sessions)) for name, number in ranked(objects)],
                none,
            ),
            Section("Blocking", [*_blocking(frames, sessions)]),
            ranked_section("I/O", "device", "I/Os per second", mean_by_name(devices), none),
            _space(last.figures),
            Section("Changes", [Items(changes) if changes else Line("None was seen.")]),
            Line(
                "Counters are summed from sample to sample. Sessions and objects are those of the moments of the"
                f" samples. Not in a recording: the error log.{unread}",
                "method",
            ),
        ],
    )


def _account(parts: Sequence[tuple[str, float]], transactions: float | None) -> Section:
    """Where the time goes. parts: seconds per second. transactions: per second."""
    titles = ("sessions, on average", "share", "ms per transaction")
    whole = sum(seconds for _, seconds in parts)
    rows = [
        (
            part.replace("_", " "),
            shown(seconds),
            shown(seconds / whole, "ratio"),
            shown(seconds * 1000 / transactions if transactions else None),
        )
        for part, seconds in parts
    ]
    return Section("Where the time goes", [Table(columns("part", *titles, figures=titles), rows)])


def _statements(found: Sequence[StatementCost]) -> Section:
    figures = ("uses", "CPU, s", "elapsed, s", "reads", "reads each")
    rows: list[tuple[str | Cell, ...]] = [
        (
            each.name,
            each.database,
            *map(shown, (each.uses, each.cpu, each.elapsed, each.reads, each.each("reads"))),
            Cell(each.change, style="worse"),
        )
        for each in found
    ]
    heads = columns("statement", "database", *figures, "changed", figures=figures)
    table = Table(heads, rows, empty="None, or not recorded.")
    return Section("Statements, by CPU", [table])


def _blocking(frames: Sequence[Frame], sessions: Sequence[Snapshot]) -> Iterator[Part]:
    """Who blocked whom when most processes were blocked."""
    worst = max(frames, key=lambda each: each.figures.blocked_processes or 0.0).sample
    links = blocking_trees(worst.sessions.sessions)[:MAX_ROWS] if worst.sessions else []
    if not sessions:
        yield Line("Not known: this recording has no sessions; those of top --record have.")
    elif links:
        yield Line(f"At {moment(worst.at)}, when most processes were blocked:")
        yield _chains(links)
    elif unread := next(filter(None, (each.unread for each in sessions)), ""):
        yield Line(f"Not known: {unread}.")
    else:
        yield Line("Nobody was blocked in any sample.")


def _chains(links: Sequence[Link]) -> Table:
    """Each session above those that it blocks."""
    figures = ("blocks", "in this state")
    titles = ("session", "blocks", "login, program", "in this state", "statement", "object, lock")
    rows = [
        (
            "· " * min(link.depth, MAX_DEPTH) + str(link.session.spid),
            str(link.blocks or ""),
            f"{link.session.login} {link.session.program}",
            "" if link.session.seconds is None else duration(link.session.seconds),
            link.session.statement,
            f"{link.session.object} {link.session.lock}",
        )
        for link in links
    ]
    return Table(columns(*titles, figures=figures, whole=("session",)), rows)


def _space(figures: Figures) -> Section:
    spaces = sorted(figures.space, key=lambda each: -each.used)[:MAX_ROWS]
    rows = [(each.database, each.use, shown(each.used, "ratio")) for each in spaces]
    return Section("Space at the end", [Table(columns("database", "use", "used", figures=("used",)), rows)])


def read_recording(
    moments: Iterable[tuple[Sample, Frame]],
) -> tuple[list[Frame], int, Mapping[str, float]]:
    """The frames with rates, the number of samples without an answer, and growth per second by title of the load."""
    growth, frames, failed = _Growth(), list[Frame](), 0
    for sample, frame in moments:
        growth.note(sample)
        if sample.error:
            failed += 1
        # The first samples have no rates yet.
        elif frame.figures.seconds:
            frames.append(frame)
    return frames, failed, growth.rates()
