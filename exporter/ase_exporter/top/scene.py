"""What is shown of a frame, as data: scenes, tables and their rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ase_exporter.diagnosis.diagnose import Level
from ase_exporter.top.figures import Figures
from ase_exporter.top.frames import Frame, History
from ase_exporter.top.text import Glyphs
from ase_exporter.untrusted.terminal import Align

Value = float | str

# Each verdict begins with a word of its own, so colours only repeat it.
STYLES: Mapping[Level, str] = {
    "bad": "bold white on red",
    "warn": "bold yellow",
    "good": "bold green",
    "none": "bold",
}
# Characters of the smallest terminal that is supported.
NARROW = 80
# From this share on, an engine is busy and a database is full.
FULL = 0.9


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
class Scene:
    """A frame with its history, the characters that the terminal can show, and its width."""

    frame: Frame
    history: History
    glyphs: Glyphs
    width: int = NARROW

    @property
    def figures(self) -> Figures:
        return self.frame.figures


def change_flags(scene: Scene, length: int) -> list[bool]:
    """In which of the last frames a change was seen first."""
    frames = list(scene.history.until(scene.frame))[-length - 1 :]
    found = [len(after.sample.changes) > len(before.sample.changes) for before, after in pairwise(frames)]
    return found if len(frames) > length else [False, *found]


def short(described: str) -> str:
    """A change in words, without how exact its time is."""
    return described.partition(" (seen at ")[0]
