"""The tables as text: one for each part of a server.

The same for the screen and for plain text, so that what a script greps is what people see.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, get_args

from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.provenance import REASONS
from ase_exporter.readings.samples import SESSION_ROWS
from ase_exporter.sessions.blocking import Link, blocking_trees
from ase_exporter.sessions.session import Session
from ase_exporter.top.frames import Scene
from ase_exporter.top.tables import Column, Number, TableDefinition, tables
from ase_exporter.top.text import Glyphs, clock
from ase_exporter.untrusted.terminal import Align
from ase_exporter.views.figures import UNKNOWN, short, shown

Value = float | str
# Indentations of a chain of blockers that are shown.
_DEEPEST = 7


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


def table(name: str, scene: Scene) -> ScreenTable:
    """The table of that name in tables.yaml."""
    definition = tables()[name]
    columns = [column for column in definition.columns if column.width <= scene.width]
    style = _ROW_STYLES.get(name, lambda _: "")
    return ScreenTable(
        name.capitalize(),
        tuple((each.title, "right" if each.form in get_args(Number) else "left") for each in columns),
        tuple(
            ScreenRow(
                " ".join(str(attrgetter(part)(row)) for part in definition.key),
                tuple(_cell(column, row, scene) for column in columns),
                tuple(0.0 if (value := _value(column, row)) is None else value for column in columns),
                style(row),
            )
            for row in (_ROWS[name](scene) if name in _ROWS else getattr(scene.figures, name))
        ),
        _empty(scene, name, definition),
    )


def filtered(found: ScreenTable, text: str) -> ScreenTable:
    """The rows with a cell that contains the text, in any case; each key once."""
    wanted = text.lower()
    rows = [row for row in found.rows if any(wanted in cell.lower() for cell in row.cells)]
    return replace(found, rows=tuple({row.key: row for row in rows}.values()))


def ordered(found: ScreenTable, title: str, descending: bool, glyphs: Glyphs) -> ScreenTable:
    """The table by the column of that title, which is marked; as it is without that column."""
    names = [name for name, _ in found.titles]
    if title not in names:
        return found
    at = names.index(title)

    def by(row: ScreenRow) -> tuple[bool, float, str]:
        value = row.values[at]
        return (True, 0.0, value.lower()) if isinstance(value, str) else (False, value, "")

    mark = glyphs.descending if descending else glyphs.ascending
    titles = tuple((f"{name}{mark}" if name == title else name, align) for name, align in found.titles)
    return replace(found, titles=titles, rows=tuple(sorted(found.rows, key=by, reverse=descending)))


def described(name: str, row: Any) -> Iterator[tuple[str, str]]:
    """Title and text of the columns after the first in which there is something, whatever the width."""
    cells = ((column.title, _cell(column, row, None)) for column in tables()[name].columns[1:])
    return ((title, text) for title, text in cells if text not in ("", UNKNOWN))


def _value(column: Column, row: Any) -> Any:
    cost = column.shows.removeprefix("each ")
    return attrgetter(cost)(row) if cost == column.shows else row.each(cost)


def _cell(column: Column, row: Any, scene: Scene | None) -> str:
    if scene and column.form in _WITH_SCENE:
        return _WITH_SCENE[column.form](row, scene)
    return _FORMS[column.form](_value(column, row))


def _empty(scene: Scene, name: str, definition: TableDefinition) -> str:
    """What is said in place of rows."""
    sample = scene.frame.sample
    if sample.error:
        return scene.frame.diagnosis.sentence
    missing = sample.missing
    if name in _OF_SESSIONS:
        if sample.sessions is None:
            return missing.get(SESSION_ROWS, "Waiting for the first sample")
        missing = sample.sessions.missing
    found = (missing[each] for each in definition.needs if each in missing)
    reasons = dict.fromkeys(REASONS.get(reason, reason) for reason in found)
    if reasons:
        return f"Not read: {'; '.join(reasons)} (see ase-exporter check)"
    return definition.empty if scene.figures.seconds else "Waiting for a few seconds of samples"


def in_tree(link: Link, scene: Scene) -> str:
    """The spid of a session of a chain, indented below the one that blocks it."""
    indent = "  " * (min(link.depth, _DEEPEST) - 1) + scene.glyphs.branch if link.depth else ""
    return f"{indent}{link.session.spid}"


def _sessions(scene: Scene) -> Sequence[Session]:
    return scene.frame.sample.sessions.sessions if scene.frame.sample.sessions else ()


def _links(scene: Scene) -> list[Link]:
    """All sessions, in their order, with how many each blocks."""
    blocks = {link.session.spid: link.blocks for link in blocking_trees(_sessions(scene))}
    return [Link(each, 0, blocks.get(each.spid, 0)) for each in _sessions(scene)]


# Rows that are no figures; of sessions, those at work and those whose transactions are in the way.
_ROWS: Mapping[str, Callable[[Scene], Iterable[Any]]] = {
    "blocking": lambda scene: blocking_trees(_sessions(scene)),
    "sessions": _links,
    "statements": lambda scene: scene.frame.sample.sessions.statements if scene.frame.sample.sessions else (),
    "changes": lambda scene: reversed(scene.frame.sample.changes),
}
_OF_SESSIONS = ("blocking", "sessions", "statements")
_ROW_STYLES: Mapping[str, Callable[[Any], str]] = {
    "spinlocks": lambda each: "bold red" if each.contended else "",
    "caches": lambda each: "bold yellow" if each.stalls else "",
    "blocking": lambda link: "" if link.depth else "bold",
    "sessions": lambda link: "bold red" if link.blocks else "yellow" if link.session.blocked_by else "",
    "space": lambda each: "bold red" if each.used >= threshold("space.warning") else "",
    "statements": lambda each: "bold red" if each.change else "",
}
_FORMS: Mapping[str, Callable[[Any], str]] = {
    "": str,
    "words": lambda text: text.replace("_", " "),
    "clock": clock,
    "short": short,
    "ratio": partial(shown, unit="ratio"),
    "seconds": partial(shown, unit="seconds"),
    "bytes": partial(shown, unit="bytes"),
    "plain": shown,
    "some": lambda number: str(number or ""),
}
_WITH_SCENE: Mapping[str, Callable[[Any, Scene], str]] = {
    "tree": in_tree,
    "since": lambda cost, _: cost.change and f"{cost.change} since {clock(cost.since)}",
}
PARTS = [name for name, each in tables().items() if each.columns]
