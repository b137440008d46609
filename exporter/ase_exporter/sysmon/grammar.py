"""The known lines of each section by release (grammar.csv): their place, indentation and columns.

A line is known by its section and its text without figures; names and numbers in it are `*` and `#`. path: the
sub-headings above it. after: what may stand right above it (a rule, a blank line, text). required: a row that
every known report has in that `section`, or in that `block` where one row of the block is there; a heading that every
known report of these releases has in that section.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

FIRST_RELEASE = (15, 0)
_PATTERNS = (
    (re.compile(r"Engine \d+"), "Engine #"),
    (re.compile(r"Thread \d+ \(.*\)"), "Thread # (*)"),
    (re.compile(r"\d+ Kb Pool"), "# Kb Pool"),
    (re.compile(r"ThreadPool : .*"), "ThreadPool : *"),
    (
        re.compile(
            r"(Cache|NV Cache|Device|Application|Application->Login|Replication (?:Agent|Server)): .*"
        ),
        r"\1: *",
    ),
)
_DEVICES = "Device Activity Detail"
_BUCKETS = "Bucketpool Name"
# Of 15.7, one section of a report is known.
_KNOWN_WHOLE = ("15.0.3", "16.0")
_RELEASE = re.compile(r"(?:Enterprise|Server)/(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class KnownLine:
    """One line of the grammar; label: of the row, where it is more than the text of this line."""

    section: str
    kind: str
    path: str
    text: str
    label: str
    indent: int
    after: frozenset[str]
    measures: frozenset[str]
    releases: frozenset[str]
    required: str


class Grammar:
    """The known lines, by section and text, and the known rows, by section, path and label."""

    def __init__(self, lines: Sequence[KnownLine]) -> None:
        self.sections = frozenset(line.section for line in lines)
        self._lines: defaultdict[tuple[str, str], list[KnownLine]] = defaultdict(list)
        self._rows: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        tables = defaultdict(set)
        for line in lines:
            # Below another heading, a table alone does not tell which one that was.
            if line.kind == "titles" and line.text == line.path:
                tables[line.text].add(line.section)
        self._tables = {text: min(names) for text, names in tables.items() if len(names) == 1}
        self._places = {(line.path, line.label or line.text) for line in lines if line.kind == "row"}
        self._texts = {(line.section, text) for line in lines for text in (line.text, line.label)}
        self._labels: defaultdict[tuple[str, str], dict[str, set[str]]] = defaultdict(dict)
        self._columns: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._releases: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self.required: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        self.headings: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
        for line in lines:
            if line.kind != "row" and line.required:
                self.headings[line.section].setdefault(line.text, set()).update(line.releases)
            self._lines[line.section, line.text].append(line)
            if line.kind == "row":
                key = (line.path, line.label or line.text)
                self._rows[line.section, *key] |= line.measures
                self._columns[line.section, _table(line.path)] |= line.measures
                self._releases[line.section, *key] |= line.releases
                self._labels[line.section, key[1]].setdefault(line.path, set()).update(line.releases)
                if line.required:
                    self.required[line.section][key] = line.required

    def lines(self, section: str, text: str) -> list[KnownLine]:
        """What is known of a text in a section."""
        return self._lines.get((section, pattern(text)), [])

    def section_of(self, table: str) -> str:
        """The one section that has a table of this title, below no other heading; '' if none or several have."""
        return self._tables.get(pattern(table), "")

    def releases(self, section: str, path: Sequence[str], label: str) -> set[str]:
        """The releases that print a row; empty for an unknown one."""
        return self._releases.get((section, path_pattern(path), pattern(label)), set())

    def is_elsewhere(self, path: Sequence[str], label: str) -> bool:
        """Whether some section has this row below the same sub-headings."""
        return bool(path) and (path_pattern(path), _name(path, label)) in self._places

    def is_misplaced(self, section: str, path: Sequence[str], label: str, release: str) -> bool:
        """Whether the section has this label and each of these sub-headings, but not the one below the others.

        That is also so where only other releases know the place, and this release has one more heading above the
        label. (Thread pools are none: a server without the threaded kernel has none of them. Totals are printed one
        heading higher if there is something to count.)
        """
        known, name = path_pattern(path), _name(path, label)
        places = self._labels.get((section, name), {})
        if known in places:
            if release not in _KNOWN_WHOLE or release in places[known] or label.startswith("Total "):
                return False
            return any(release in releases and _is_below(known, place) for place, releases in places.items())
        headings = (part for part in known.split(" / ") if part)
        return bool(places) and all((section, heading) in self._texts for heading in headings)

    def columns(self, section: str, path: Sequence[str]) -> set[str]:
        """The columns of the table that a path begins with; empty for an unknown table."""
        return self._columns.get((section, _table(path_pattern(path))), set())

    def measures(self, section: str, path: Sequence[str], label: str) -> set[str] | None:
        """The columns in which a row may have figures; None for an unknown row."""
        return self._rows.get((section, path_pattern(path), _name(path, label)))


@cache
def grammar() -> Grammar:
    """The grammar that ships with this package."""
    with (Path(__file__).parent / "grammar.csv").open(encoding="utf-8", newline="") as file:
        return Grammar(
            [
                KnownLine(
                    row["section"],
                    row["kind"],
                    row["path"],
                    row["text"],
                    row["label"],
                    int(row["indent"]),
                    frozenset(row["after"].split()),
                    frozenset(row["measures"].split()),
                    frozenset(row["releases"].split()),
                    row["required"],
                )
                for row in csv.DictReader(file)
            ]
        )


def release(version: str) -> tuple[int, int] | None:
    """Major and minor release of a version banner; None where it has none."""
    match = _RELEASE.search(version)
    return (int(match[1]), int(match[2])) if match else None


def nearest_release(version: str) -> str:
    """The release of the grammar that a version banner comes closest to; '' without a version."""
    found = release(version)
    if found is None:
        return ""
    return "15.0.3" if found < (15, 7) else "15.7" if found < (16, 0) else "16.0"


def _name(path: Sequence[str], label: str) -> str:
    """A label as the grammar has it; memory pools have names of their own."""
    return "*" if path and path_pattern(path) == _BUCKETS else pattern(label)


def _is_below(path: str, place: str) -> bool:
    """Whether a place is a path with more headings below it, none of them a block with a name of its own."""
    return place.startswith(f"{path} / ") and "*" not in place[len(path) :]


def _table(path: str) -> str:
    return path.partition(" / ")[0]


@lru_cache(maxsize=8192)
def pattern(text: str) -> str:
    """A text with its names and numbers replaced, as the grammar has it."""
    words = " ".join(text.split())
    for known, replacement in _PATTERNS:
        if known.fullmatch(words):
            return known.sub(replacement, words)
    return words


def path_pattern(path: Sequence[str]) -> str:
    """A path as the grammar has it."""
    parts = [pattern(part) for part in path]
    if len(parts) > 1 and parts[0] == _DEVICES:
        parts[1] = "*"
    return " / ".join(parts)
