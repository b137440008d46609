"""Frames for scripts, pipes and tickets: as plain text, or as JSON, one object on one line for each of them.

In JSON ratios are 0-1, rates per second, sizes bytes, durations seconds; null is what is not known.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.text import Text

from ase_exporter.diagnosis.data import diagnosis_data
from ase_exporter.sessions.encode import snapshot_json
from ase_exporter.top.frames import Frame, History, Scene
from ase_exporter.top.header import baseline, header, title
from ase_exporter.top.text import Glyphs
from ase_exporter.top.view import PARTS, ScreenTable, table
from ase_exporter.untrusted.terminal import TextLine, WordTable

MAX_ROWS = 10
# A line of a file is cut nowhere; the strip of a thousand engines fits.
MAX_WIDTH = 1100


def report(frame: Frame, glyphs: Glyphs) -> Iterator[RenderableType]:
    """What to print of a server."""
    scene = Scene(frame, History([frame]), glyphs, MAX_WIDTH)
    yield TextLine(title(scene) + baseline(scene), "bold")
    lines = header(scene)
    if frame.sample.error:
        yield TextLine(lines[0])
        return
    yield from map(TextLine, lines)
    for name in PARTS:
        yield ""
        yield from _table(table(name, scene))


def _table(table: ScreenTable) -> Iterator[RenderableType]:
    """A table in any width; its name stands above its first column. Columns without any text are left out."""
    if not table.rows:
        yield TextLine(f"{table.title}: {table.empty}")
        return
    rows = table.rows[:MAX_ROWS]
    shown = [at for at in range(len(table.titles)) if at == 0 or any(row.cells[at] for row in rows)]
    titles = [table.titles[at] for at in shown]
    figures = [place for place, (_, align) in enumerate(titles) if align == "right"]
    cells = [[row.cells[at] for at in shown] for row in rows]
    heads = [table.title, *(title for title, _ in titles[1:])]
    yield WordTable(heads, cells, figures, styles=[row.style for row in rows])
    if (more := len(table.rows) - MAX_ROWS) > 0:
        yield Text(f"({more} more)", style="dim")


def as_json(frame: Frame) -> str:
    sample, figures = frame.sample, asdict(frame.figures)
    content = {
        "target": sample.target,
        "time": datetime.fromtimestamp(sample.at, UTC).isoformat(timespec="milliseconds"),
        "version": sample.version,
        "error": sample.error or None,
        "error_kind": sample.kind or None,
        "diagnosis": diagnosis_data(frame.diagnosis),
        "compared_with": frame.usual or None,
        "interval": sample.interval,
        "window": figures.pop("seconds"),
        "hottest": frame.figures.hottest.name if frame.figures.hottest else None,
        "cost": {
            "cpu": figures.pop("own_cpu"),
            "statement_share": sample.statement_share,
            "budget": sample.budget,
            "stretched": dict(sample.stretched),
        },
        **figures,
        "sessions": snapshot_json(sample.sessions) if sample.sessions else None,
        "missing": dict(sample.missing),
        "changes": [change.json() for change in sample.changes],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, default=vars)
