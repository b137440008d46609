"""The tables: one for each part of the server.

The same for the screen and for plain text, so that what a script greps is what people see.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from ase_exporter.config import yaml_files
from ase_exporter.sessions.blocking import Link, blocking_trees
from ase_exporter.top.figures import Figures, Space, Spinlock
from ase_exporter.top.frames import FULL, NARROW, STYLES, Frame, Scene, change_flags, short
from ase_exporter.top.samples import SESSION_ROWS
from ase_exporter.top.text import clock, count, duration, percent, size, sparkline
from ase_exporter.untrusted.terminal import Align

Value = float | str

TREND = 9
# Sparklines are scaled to this contention at least, so that noise does not look like a mountain.
TREND_FLOOR = 0.1


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """key: tells rows apart from frame to frame. cells: as shown. values: to sort by, one for each cell."""

    key: str
    cells: tuple[str, ...]
    values: tuple[Value, ...]
    style: str = ""


@dataclass(frozen=True, slots=True)
class ScreenTable:
    """titles: of the columns, each with its alignment. empty: said in place of rows."""

    title: str
    titles: tuple[tuple[str, Align], ...]
    rows: tuple[ScreenRow, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column. value: of what a row is about; show: that value as text; order: what to sort by, if not the value.

    width: of the terminals that show it, at least.
    """

    title: str
    value: Callable[[Any], Any]
    show: Callable[[Any], str] = str
    align: Align = "left"
    order: Callable[[Any], Value] | None = None
    width: int = 0

    def sort_value(self, each: Any) -> Value:
        """What to sort a row by; 0 where the value is not known."""
        found: Value | None = self.order(each) if self.order else self.value(each)
        return 0.0 if found is None else found


_LEFT: Mapping[str, Callable[[Any], str]] = {
    "": str,
    "words": lambda text: text.replace("_", " "),
    "clock": clock,
}
_RIGHT: Mapping[str, Callable[[Any], str]] = {
    "count": count,
    "percent": percent,
    "duration": duration,
    "size": size,
    "hundredths": "{:.2f}".format,
    "whole": lambda value: "-" if value is None else f"{value:.0f}",
}


@cache
def _tables() -> dict[str, list[list[str | int]]]:
    return yaml_files.load_shipped(Path(__file__).with_name("columns.yaml"), dict[str, list[list[str | int]]])


@cache
def _columns(table: str) -> tuple[Column, ...]:
    return tuple(_column(*each) for each in _tables()[table])


def _column(title: Any, attribute: Any, form: Any = "", width: Any = 0) -> Column:
    cost = attribute.removeprefix("each ")
    value = attrgetter(attribute) if cost == attribute else methodcaller("each", cost)
    if form in _LEFT:
        return Column(title, value, _LEFT[form], width=width)
    return Column(title, value, _RIGHT[form], "right", width=width)


def _table(
    title: str,
    columns: Sequence[Column],
    things: Iterable[Any],
    empty: str,
    *,
    key: Callable[[Any], str] | None = None,
    style: Callable[[Any], str] = lambda each: "",
    width: int = NARROW,
) -> ScreenTable:
    """A row for each thing. key: tells rows apart, by default the first column. width: of the terminal."""
    columns = [column for column in columns if width >= column.width]
    rows = tuple(
        ScreenRow(
            (key or columns[0].value)(each),
            tuple(column.show(column.value(each)) for column in columns),
            tuple(column.sort_value(each) for column in columns),
            style(each),
        )
        for each in things
    )
    return ScreenTable(title, tuple((column.title, column.align) for column in columns), rows, empty)


def contention_trend(scene: Scene, spinlock: str, length: int) -> list[float | None]:
    """Its contention in the last frames; None where it is missing."""

    def contention(figures: Figures) -> float | None:
        return next((each.contention for each in figures.spinlocks if each.name == spinlock), None)

    return scene.history.trend(scene.frame, length, contention)


def _spinlocks(scene: Scene) -> ScreenTable:
    """Spinlocks, those that burn most CPU first."""

    def trend(each: Spinlock) -> str:
        values = contention_trend(scene, each.name, TREND)
        return sparkline(values, scene.glyphs, TREND_FLOOR, change_flags(scene, TREND))

    columns = [*_columns("spinlocks")]
    if len(scene.history) > 1:
        columns.append(Column("Trend", trend, order=attrgetter("contention")))
    return _table(
        "Spinlocks",
        columns,
        scene.figures.spinlocks,
        _missing(scene, "spinlocks", "No spinlock spins"),
        style=lambda each: "bold red" if each.contended else "",
    )


def _links(scene: Scene) -> list[Link]:
    found = scene.frame.sample.sessions
    return blocking_trees(found.sessions) if found else []


def _unless_unread(scene: Scene, empty: str) -> str:
    """What a table about sessions says in place of rows."""
    if scene.frame.sample.sessions is not None:
        return empty
    return scene.frame.sample.missing.get(SESSION_ROWS) or _missing(scene, "", "Waiting for the first sample")


def _blocking(scene: Scene) -> ScreenTable:
    """Chains of blocked sessions: each blocker above those it blocks."""

    def spid(link: Link) -> str:
        indent = "  " * min(link.depth - 1, 6) + scene.glyphs.branch if link.depth else ""
        return f"{indent}{link.session.spid}"

    columns = (
        Column("Spid", spid),
        Column("Blocks", attrgetter("blocks"), lambda number: str(number or ""), "right"),
        *_columns("sessions"),
    )
    return _table(
        "Blocking",
        columns,
        _links(scene),
        _unless_unread(scene, "Nobody is blocked"),
        key=lambda link: str(link.session.spid),
        style=lambda link: "" if link.depth else "bold",
        width=scene.width,
    )


def _sessions(scene: Scene) -> ScreenTable:
    """Sessions at work, and those whose transactions are in the way, the longest in their state first."""
    found = scene.frame.sample.sessions
    blocks = {link.session.spid: link.blocks for link in _links(scene)}
    things = [Link(each, 0, blocks.get(each.spid, 0)) for each in (found.sessions if found else ())]
    columns = (
        Column("Spid", lambda each: str(each.session.spid), order=attrgetter("session.spid")),
        Column(
            "By",
            lambda each: str(each.session.blocked_by or ""),
            align="right",
            order=attrgetter("session.blocked_by"),
        ),
        *_columns("sessions"),
    )
    return _table(
        "Sessions",
        columns,
        things,
        _unless_unread(scene, "No session is at work"),
        key=lambda each: str(each.session.spid),
        style=lambda each: "bold red" if each.blocks else "yellow" if each.session.blocked_by else "",
        width=scene.width,
    )


def _statements(scene: Scene) -> ScreenTable:
    """Procedures and cached statements by what they cost since the last reading of the caches."""
    found = scene.frame.sample.sessions
    changed = Column("Changed", lambda each: each.change and f"{each.change} since {clock(each.since)}")
    names = ("cached_procedures", "cached_statements")
    missing = [found.missing[name] for name in names if name in found.missing] if found else []
    empty = (
        f"Not read: {'; '.join(dict.fromkeys(missing))}"
        if missing
        else "None was executed, or too few samples"
    )
    return _table(
        "Statements",
        (*_columns("statements"), changed),
        found.statements if found else (),
        _unless_unread(scene, empty),
        key=lambda each: f"{each.database} {each.name}",
        style=lambda each: "bold red" if each.change else "",
        width=scene.width,
    )


def _space(scene: Scene) -> ScreenTable:
    """Space of databases: logs and temporary databases before the others, the fullest first."""

    def rank(each: Space) -> tuple[bool, float]:
        return each.use == "data" and not each.database.startswith("tempdb"), -each.used

    def note(each: Space) -> str:
        return "log full" if each.database in scene.figures.logs_full and each.use != "data" else ""

    columns = (*_columns("space"), Column("", note))
    return _table(
        "Space",
        columns,
        sorted(scene.figures.spaces, key=rank),
        _missing(scene, "database_space", "No space is known"),
        key=lambda each: f"{each.database} {each.use}",
        style=lambda each: "bold red" if each.used >= FULL else "",
    )


_CHANGES = (
    Column("Seen", attrgetter("at"), clock),
    Column("Change", lambda each: short(each.describe())),
)


def _changes(scene: Scene) -> ScreenTable:
    newest_first = reversed(scene.frame.sample.changes)
    return _table("Changes", _CHANGES, newest_first, "No change since the first sample", key=attrgetter("id"))


def _missing(scene: Scene, collector: str, otherwise: str) -> str:
    reason = scene.frame.sample.missing.get(collector)
    if scene.frame.sample.error:
        return scene.frame.diagnosis.sentence
    if reason:
        return f"Not read: {reason} (ase-exporter check says how to fix it)"
    return otherwise if scene.figures.seconds else "Waiting for a few seconds of samples"


def _costliest_first(
    title: str,
    columns: Sequence[Column],
    collector: str,
    empty: str,
    style: Callable[[Any], str] = lambda _: "",
) -> Callable[[Scene], ScreenTable]:
    """A table of the figures of that name, which are in order."""
    rows = attrgetter(f"figures.{title.lower()}")
    return lambda scene: _table(title, columns, rows(scene), _missing(scene, collector, empty), style=style)


SECTIONS: Mapping[str, Callable[[Scene], ScreenTable]] = {
    "spinlocks": _spinlocks,
    "caches": _costliest_first(
        "Caches",
        _columns("caches"),
        "data_caches",
        "No data caches",
        lambda each: "bold yellow" if each.stalls else "",
    ),
    "waits": _costliest_first("Waits", _columns("waits"), "waits", "No task waits"),
    "blocking": _blocking,
    "sessions": _sessions,
    "devices": _costliest_first("Devices", _columns("devices"), "devices", "No device"),
    "space": _space,
    "changes": _changes,
    "statements": _statements,
}


def server_list(frames: Sequence[Frame]) -> ScreenTable:
    """Many servers, one line each, the worst first."""
    ranked = sorted(frames, key=lambda each: (-each.diagnosis.rank, each.sample.target))
    return _table(
        "Servers",
        _SERVERS,
        ranked,
        "Waiting for the first sample",
        style=lambda each: STYLES[each.diagnosis.level],
    )


def _worst(each: Frame) -> str:
    """What the first finding is about, a spinlock with its contention, or the error."""
    if each.sample.error:
        return each.sample.error
    subject = each.diagnosis.findings[0].subject if each.diagnosis.findings else None
    if subject is None:
        return ""
    contention = {spinlock.name: spinlock.contention for spinlock in each.figures.spinlocks}
    if subject.kind == "spinlock" and subject.name in contention:
        # The state says that it is a spinlock: 80 columns have no place for both.
        return f"{subject.name} {percent(contention[subject.name])}"
    return f"{subject.kind} {subject.name}"


_SERVERS = (
    Column("Server", attrgetter("sample.target")),
    Column("State", attrgetter("diagnosis.word"), order=lambda each: float(-each.diagnosis.rank)),
    *_columns("servers"),
    Column("About, or error", _worst),
)
