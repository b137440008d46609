"""The known rows of sp_sysmon by release (known_rows.csv), and what a piece of text can be by them.

A row is known by its section, the sub-headings above it (path) and its label; names and numbers in them are `*` and
`#`. text: what is printed where that is not the whole label. columns: those that may hold figures, in their order.
need: when the row is printed, see `coverage`. Two texts are the same but for runs of blanks.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from ase_exporter.assets import shipped_rows
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT_OF_TOTAL

STANDARD = (PER_SEC, PER_XACT, COUNT, PERCENT_OF_TOTAL)
BUCKETS = "Bucketpool Activity"
DEVICES = ("Device Activity Detail",)
_RELEASE = re.compile(r"(?:Enterprise|Server)/(\d+)\.(\d+)")
_PATTERNS = (
    (re.compile(r"Engine (\d+)"), "Engine #", "Engine {}"),
    (re.compile(r"Thread (\d+) \((.*)\)"), "Thread # (*)", "Thread {} ({})"),
    (re.compile(r"(\d+) Kb Pool"), "# Kb Pool", "{} Kb Pool"),
)
_NAMED = re.compile(
    r"(?P<kind>ThreadPool :|(?:NV )?Cache:|Application(?:->Login)?:|Replication Agent:) *(?P<name>[^ ].*)"
)
_TITLES = re.compile(
    r"(?:^|(?<! ) +)(?:per sec +per xact +count(?: +% of total)?"
    r"|(?:(?:User|System|CPU) Busy +)+(?:I/O Busy +)?Idle"
    r"|1 min +5 min +15 min +% of total"
    r"|BucketSize +Allocs(?:/s +AllocsMissed/s| +Frees +Found empty))$"
)
Names = tuple[str, ...]
# Sub-headings and label of a row.
Place = tuple[Names, str]


@dataclass(frozen=True, slots=True)
class KnownRow:
    """One row of the grammar.

    slots: the columns for which it prints something, figures or `n/a`. wanted: what its need is about, such as rows.
    """

    section: str
    path: Names
    label: str
    text: str
    columns: tuple[str, ...]
    slots: tuple[str, ...]
    releases: frozenset[str]
    need: str
    wanted: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text can be: a section, headings (section and path), rows, or other text of the report.

    name: the text with its own names and numbers.
    """

    name: str
    section: str = ""
    headings: tuple[tuple[str, Names], ...] = ()
    rows: tuple[KnownRow, ...] = ()
    text: bool = False

    @property
    def known(self) -> bool:
        return bool(self.section or self.headings or self.rows or self.text)


class Grammar:
    """The known rows, the headings that follow from their paths, and texts without figures that are no headings."""

    def __init__(self, rows: Sequence[KnownRow], texts: Sequence[str]) -> None:
        self.rows = rows
        self.paths: defaultdict[str, set[Names]] = defaultdict(set)
        self.by_place: dict[tuple[str, Names, str], KnownRow] = {}
        self._sections = {row.section for row in rows}
        self._texts = frozenset(texts)
        self._rows: defaultdict[str, list[KnownRow]] = defaultdict(list)
        self._headings: defaultdict[str, dict[tuple[str, Names], None]] = defaultdict(dict)
        for row in rows:
            self._rows[_bare(row.text)].append(row)
            self.by_place.setdefault((row.section, row.path, row.label), row)
            for depth in range(1, len(row.path) + 1):
                path = row.path[:depth]
                self.paths[row.section].add(path)
                self._headings[_bare(path[-1])][row.section, path] = None

    @lru_cache(maxsize=1 << 15)  # noqa: B019  # one grammar lives as long as the process
    def meaning(self, text: str) -> Meaning:
        """What a text can be. Colons at its end mean nothing."""
        pattern, name = _pattern(text)
        found = _bare(pattern)
        return Meaning(
            name,
            pattern if pattern in self._sections else "",
            tuple(self._headings.get(found, ())),
            tuple(self._rows.get(found, ())),
            pattern in self._texts,
        )

    def section_of(self, text: str) -> str:
        """The section whose title a line is, with column titles or without; '' for another line."""
        return self.meaning(untitled(text)).section

    def known(self, section: str, path: Names, label: str) -> KnownRow | None:
        """The row of the grammar that a row of a report is."""
        return self.by_place.get((section, *place(section, path, label)))


def untitled(text: str) -> str:
    """A line without the titles of its columns."""
    return _TITLES.sub("", text).rstrip()


@cache
def grammar() -> Grammar:
    """The grammar that ships with this package."""
    folder = Path(__file__).parent
    rows = []
    for row in shipped_rows(folder / "known_rows.csv"):
        columns, places = tuple(row["columns"].split()), row["need"].partition(" ")[2].split(" + ")
        known = KnownRow(
            row["section"],
            tuple(part for part in row["path"].split(" / ") if part),
            row["label"],
            row["text"] or row["label"],
            columns,
            STANDARD if set(columns) <= set(STANDARD) else columns,
            frozenset(row["releases"].split()),
            row["need"].partition(" ")[0],
            # Places joined by ' + ', each the sub-headings and the label of rows, joined by ' / '.
            tuple((tuple(above), label) for *above, label in (each.split(" / ") for each in places if each)),
        )
        rows.append(known)
    return Grammar(rows, (folder / "known_texts.txt").read_text(encoding="utf-8").splitlines())


def is_named(text: str) -> bool:
    """Whether a text is a heading that ends in a name, which may hold anything."""
    return bool(_NAMED.fullmatch(text.strip()))


def has_names(text: str) -> bool:
    """Whether a text of the grammar stands for others."""
    return "*" in text or "#" in text


def release(version: str) -> str:
    """The release of the grammar that a version banner comes closest to; '' without a version."""
    match = _RELEASE.search(version)
    if match is None:
        return ""
    found = (int(match[1]), int(match[2]))
    return next(
        (name for low, name in (((16, 0), "16.0"), ((15, 7), "15.7"), ((15, 0), "15.0.3")) if found >= low),
        "12.5",
    )


def place(section: str, path: Names, label: str) -> Place:
    """Path and label of a row as the grammar has them."""
    if section == BUCKETS:
        return path, "*"
    parts = tuple(_pattern(part)[0] for part in path)
    if path[:1] == DEVICES and len(path) > 1:
        parts = (parts[0], "*", *parts[2:])
    return parts, _pattern(label)[0]


@lru_cache(maxsize=1 << 15)
def _pattern(text: str) -> tuple[str, str]:
    """A text with its names and numbers replaced, and with them; runs of blanks made one, but for those of a name."""
    named = _NAMED.fullmatch(text.strip())
    if named:
        kind = named["kind"].removeprefix("NV ")
        return f"{kind} *", f"{kind} {named['name']}"
    words = " ".join(text.split())
    for known, replacement, spelling in _PATTERNS:
        match = known.fullmatch(words)
        if match:
            return replacement, spelling.format(*match.groups())
    return words, words


def _bare(text: str) -> str:
    return text.rstrip(" :")
