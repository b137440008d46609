"""Columns of a table, from its titles and its underline, and the figures of a line.

Figures are right-aligned, so their right edge tells the column. Text left of the first column is label, even where
it ends in a number ('Engine 10').
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT, PERCENT_OF_TOTAL, Cell

_TITLES = {
    "per sec": PER_SEC,
    "per xact": PER_XACT,
    "count": COUNT,
    "% of total": PERCENT_OF_TOTAL,
    "User Busy": "user_busy",
    "System Busy": "system_busy",
    "CPU Busy": "cpu_busy",
    "I/O Busy": "io_busy",
    "IO Busy": "io_busy",
    "Idle": "idle",
    "1 min": "avg_1_min",
    "5 min": "avg_5_min",
    "15 min": "avg_15_min",
    "BucketSize": "bucket_size",
    "Allocs/s": "allocs_per_sec",
    "AllocsMissed/s": "allocs_missed_per_sec",
    "Allocs": "allocs",
    "Frees": "frees",
    "Found empty": "found_empty",
}
_LAST_WORDS = frozenset(title.split()[-1] for title in _TITLES)
_ABSENT = ("n/a", "na", "null")
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)(%?)")
_OVERFLOW = re.compile(r"\*+%?")
_RULE = re.compile(r"(?:-{2,}|={2,})(?:\s+(?:-{2,}|={2,}))*")
_WORD = re.compile(r"\S+")
_SPAN = re.compile(r"-+|=+")


@dataclass(frozen=True, slots=True)
class Column:
    """measure, and the position right after the last character of its figures."""

    measure: str
    edge: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one table; zone: where its first column starts."""

    columns: tuple[Column, ...]
    zone: int

    @property
    def standard(self) -> bool:
        return self.columns[0].measure == PER_SEC


STANDARD = Layout(
    (Column(PER_SEC, 41), Column(PER_XACT, 55), Column(COUNT, 67), Column(PERCENT_OF_TOTAL, 79)), 29
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A line of column titles: its label (may be empty), and measure and right edge of each title."""

    label: str
    titles: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Label and figures of a line; count: number of tokens, absent ones included."""

    label: str
    cells: tuple[Cell, ...]
    overflow: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    text: str
    value: float | None
    percent: bool
    overflow: bool

    @property
    def absent(self) -> bool:
        return self.value is None and not self.overflow


def is_rule(text: str) -> bool:
    """A line of dashes or equals signs, in one run or in one run per column."""
    return bool(_RULE.fullmatch(text.strip()))


def spans(rule: str) -> list[tuple[int, int]]:
    """Start and end of each run of a rule."""
    return [match.span() for match in _SPAN.finditer(rule)]


def heading(text: str, rule: str) -> Heading | None:
    """The titles of a line, read from the right; unknown ones only where `rule` below underlines them."""
    titles: list[Column] = []
    rest = text.rstrip()
    if rest[rest.rfind(" ") + 1 :] not in _LAST_WORDS and not is_rule(rule):
        return None
    while found := next((title for title in _TITLES if _ends_in(rest, title)), None):
        titles.insert(0, Column(_TITLES[found], len(rest)))
        rest = rest[: -len(found)].rstrip()
    underlined = spans(rule) if is_rule(rule) else []
    if len(titles) >= 2 or (titles and len(underlined) >= 2):
        return Heading(rest.strip(), tuple(titles))
    if len(underlined) >= 3:
        return _unknown_titles(text, underlined)
    return None


def _unknown_titles(text: str, underlined: Sequence[tuple[int, int]]) -> Heading | None:
    """Titles of a table that no known version has: as many as its underline has columns."""
    pieces = [(match.group(), match.end()) for match in re.finditer(r"\S+(?: \S+)*", text)]
    if any(word == "%" or _token(0, 0, word, False) for word in text.split()):
        return None
    labelled = len(underlined) == len(pieces)
    if not labelled and len(underlined) != len(pieces) + 1:
        return None
    label = pieces[0][0] if labelled else ""
    return Heading(label, tuple(Column(_snake(title), end) for title, end in pieces[labelled:]))


def layout(titles: Heading, rule: str) -> Layout:
    """The columns of a table; the edges come from its underline, where there is one."""
    under = spans(rule) if is_rule(rule) else []
    if under and (len(under) > len(titles.titles) or under[0][0] < 20):
        under = under[1:]
    edges = [end for _, end in under] + [title.edge for title in titles.titles[len(under) :]]
    columns = tuple(Column(title.measure, edge) for title, edge in zip(titles.titles, edges, strict=False))
    zone = under[0][0] if under else titles.titles[0].edge - 12
    return Layout(columns, min(zone, STANDARD.zone))


def figures(text: str, table: Layout) -> Figures | None:
    """Label and cells of a line; None where it has no figures, not even an absent one.

    Text whose runs of blanks were squeezed to one (pasted from a web page) keeps no positions: there the last
    words are figures if there is one for every column.
    """
    if "  " not in text.strip():
        squeezed = _figures(text, table, 0, limit=len(table.columns))
        if squeezed and squeezed.count == len(table.columns):
            return squeezed
    return _figures(text, table, table.zone)


def _figures(text: str, table: Layout, zone: int, limit: int = 512) -> Figures | None:
    tokens: list[_Token] = []
    words = [(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    sign, sign_end, cut = False, 0, len(text)
    while words and len(tokens) < limit:
        start, end, word = words[-1]
        if word == "%" and not sign:
            sign, cut, sign_end = True, start, end
            words.pop()
            continue
        token = _token(start, sign_end if sign else end, word, sign)
        if token is None or (end <= zone and not token.absent):
            break
        tokens.insert(0, token)
        sign, cut = False, start
        words.pop()
    if not tokens and not sign:
        return None
    cells: list[Cell] = []
    overflow: list[str] = []
    for token, measure in zip(tokens, _measures(tokens, table), strict=True):
        if token.value is not None:
            cells.append(Cell(measure, token.value, token.text, token.start))
        elif token.overflow:
            overflow.append(measure)
    return Figures(
        text[:cut].strip(),
        tuple(cells),
        tuple(overflow),
        len(tokens),
    )


def number(text: str) -> float | None:
    """A finite number as the server prints it, None for anything else."""
    match = _NUMBER.fullmatch(text)
    value = float(match[1]) if match else None
    return value if value is not None and abs(value) < 1e300 else None


def is_figure(word: str) -> bool:
    """A number, an absent or overflown one, or a percent sign."""
    return word == "%" or _token(0, 0, word, False) is not None


def _token(start: int, end: int, word: str, sign: bool) -> _Token | None:
    """A number, an overflow or an absence; None for a word of the label."""
    value = number(word)
    if value is not None:
        return _Token(start, end, word, value, sign or word.endswith("%"), False)
    if _OVERFLOW.fullmatch(word):
        return _Token(start, end, word, None, sign, True)
    if word.lower() in _ABSENT:
        return _Token(start, end, word, None, False, False)
    return None


def _measures(tokens: Sequence[_Token], table: Layout) -> list[str]:
    """The column of each token: one each where the counts agree, else by the nearest right edge."""
    columns = table.columns
    if len(tokens) >= len(columns):
        extra = [f"column_{position + 1}" for position in range(len(columns), len(tokens))]
        return [column.measure for column in columns] + extra
    chosen: list[str] = []
    limit = len(columns)
    for position, token in reversed(list(enumerate(tokens))):
        limit = min((abs(columns[index].edge - token.end), index) for index in range(position, limit))[1]
        measure = columns[limit].measure
        if table.standard and token.percent and measure != PERCENT_OF_TOTAL:
            measure = PERCENT
        chosen.insert(0, measure)
    return [name if name not in chosen[:at] else f"{name}_{at + 1}" for at, name in enumerate(chosen)]


def _ends_in(text: str, title: str) -> bool:
    return text.endswith(title) and (len(text) == len(title) or text[-len(title) - 1] == " ")


def _snake(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or PERCENT
