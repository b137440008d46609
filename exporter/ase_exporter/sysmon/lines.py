"""The lines of a report without what mail clients, terminals and scripts put around them."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.sysmon.text import plain

MAX_WIDTH = 512
TITLE = "System Performance Report"
_TITLE_INDENT = 6
_PROMPTS = re.compile(r"^(?:\d{1,4}> )+")
_LINE_END = re.compile(r"\r*\n|\r")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# What starts at the left margin of every report: its rules and its header.
_ANCHOR = re.compile(
    r"={60,}|(?:Server Version|Server Name|Run Date|Sampling Started at|Sampling Ended at|Sample Interval"
    r"|Sample Mode|Counters Last Cleared|Statistics Cleared at|Statistics Sampled at):"
)
_MAX_PREFIX = 80
_PREFIX_PARTS = re.compile(r"(?P<number> *\d+)|(?P<word>[^\W\d_]+)|(?P<other>.)", re.DOTALL)
_PREFIX_SHARE = 0.9
_ANCHOR_SHARE = 0.6
_DOUBLED_SHARE = 0.98
_MIN_GAPS = 5
_MIN_FOLDED = 10
_MAX_FOLDED_REST = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its prefix and margin.

    number: in the file, from 1; indent: blanks before its text; offset: how much was taken off at its left.
    """

    number: int
    text: str
    indent: int
    offset: int = 0

    @property
    def blank(self) -> bool:
        return not self.text

    @property
    def words(self) -> str:
        """The text with every run of blanks made one."""
        return " ".join(self.text.split())

    def moved(self, indent: int) -> "Line":
        """The same text at another indentation."""
        bare = self.text.lstrip()
        return Line(self.number, " " * indent + bare, indent, self.offset + self.indent - indent)


def raw_lines(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return _LINE_END.split(text)


def clean(raw: Sequence[tuple[int, str]]) -> list[Line]:
    """The lines of one report, given with their numbers.

    Undone are a common prefix (quote marks, line numbers, time stamps, a margin), double spacing, tabs, prompts
    of isql, HTML, and control characters.
    """
    numbered = [(number, piece) for number, line in raw for piece in plain(line[: 4 * MAX_WIDTH])]
    texts = _without_prefix(numbered)
    # Lines are wrapped before they get a prefix, or after it: then their rests have none.
    texts = _unfolded(texts) if texts is not numbered else _without_prefix(_unfolded(numbered))
    before = dict(numbered)
    lines = [
        (number, *_without_prompt(body[:MAX_WIDTH]), max(len(before[number]) - len(body), 0))
        for number, body in texts
    ]
    found: list[Line] = []
    margin = 0
    for (number, line, prompt, prefix), (_, upcoming, _, _) in zip(
        lines, [*lines[1:], (0, "", 0, 0)], strict=True
    ):
        margin = _margin(line, upcoming, margin)
        taken = margin if not line[:margin].strip() else 0
        cut = line[taken:]
        found.append(Line(number, cut, len(cut) - len(cut.lstrip()), prefix + prompt + taken))
    return _single_spaced(found)


def is_title(raw: str) -> bool:
    """Whether a raw line holds the title of a report, prefixed or not."""
    return "Performance" in raw and any(piece.rstrip().endswith(TITLE) for piece in plain(raw))


def _unfolded(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join what was wrapped at a width: most lines of full width have a short rest below them."""
    width = max((len(line) for _, line in lines), default=0)
    rests = [
        len(below)
        for (_, line), (_, below) in itertools.pairwise(lines)
        if len(line) == width and below.strip()
    ]
    short = [rest for rest in rests if rest <= _MAX_FOLDED_REST]
    if len(short) < _MIN_FOLDED or len(short) < len(rests) / 2:
        return lines
    limit = max(short)
    joined: list[tuple[int, str]] = []
    full = False
    for number, line in lines:
        if full and 0 < len(line) <= limit:
            joined[-1] = (joined[-1][0], joined[-1][1] + line)
        else:
            joined.append((number, line))
        full = len(line) == width
    return joined


def _without_prompt(line: str) -> tuple[str, int]:
    """The line without prompt, tabs and control characters, and the length of its prompt."""
    bare = _PROMPTS.sub("", line)
    return _CONTROL.sub(" ", bare).expandtabs(8).rstrip(), len(line) - len(bare)


def _without_prefix(numbered: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines without the prefix that all of them have, be it constant or a number or a time that goes on."""
    lines = [line for _, line in numbered]
    anchors = [
        (position, match.start())
        for position, line in enumerate(lines)
        if (match := _ANCHOR.search(line, 0, _MAX_PREFIX + 80)) and match.start() <= _MAX_PREFIX
    ]
    shapes = Counter(_shape(lines[position][:start]) for position, start in anchors)
    if not shapes:
        return numbered
    shape, count = shapes.most_common(1)[0]
    if not shape or count < _ANCHOR_SHARE * len(anchors):
        return numbered
    pattern = re.compile(shape)
    # Tools that trim lines leave the prefix of a blank line without its last blanks.
    empty = re.compile(re.sub(r"(?:\\ |\\\t|\t| )+$", "", shape) + r"\s*")
    matches = [pattern.match(line) for line in lines]
    filled = [position for position in range(anchors[0][0], anchors[-1][0] + 1) if lines[position].strip()]
    kept = sum(bool(matches[position] or empty.fullmatch(lines[position])) for position in filled)
    if kept < _PREFIX_SHARE * len(filled):
        return numbered
    return [
        (number, line[match.end() :] if match else "" if empty.fullmatch(line) else line)
        for (number, line), match in zip(numbered, matches, strict=True)
    ]


def _shape(prefix: str) -> str:
    """A pattern for prefixes of one kind: numbers and words may differ, all else is the same."""
    return "".join(
        r" *\d+" if match["number"] else r"[^\W\d_]+" if match["word"] else re.escape(match["other"])
        for match in _PREFIX_PARTS.finditer(prefix)
    )


def _single_spaced(lines: list[Line]) -> list[Line]:
    """Undo double or triple spacing: where blank lines stand between all lines, they were put there."""
    filled = [position for position, line in enumerate(lines) if not line.blank]
    gaps = Counter(min(after - before - 1, 3) for before, after in itertools.pairwise(filled))
    added = next(
        (
            wide
            for wide in (2, 1)
            if sum(gaps[width] for width in range(wide, 4)) >= _DOUBLED_SHARE * gaps.total()
        ),
        0,
    )
    if gaps.total() < _MIN_GAPS or not added:
        return lines
    kept: list[Line] = []
    blanks: list[Line] = []
    for line in lines:
        if line.blank:
            blanks.append(line)
            continue
        kept += blanks[: max(len(blanks) - added, 0) // (added + 1)]
        kept.append(line)
        blanks = []
    return kept + blanks


def _margin(line: str, upcoming: str, margin: int) -> int:
    """How far the report is shifted: known again at each title, from the rule above it on."""
    for candidate in (line, upcoming):
        if candidate.endswith(TITLE):
            return max(len(candidate) - len(candidate.lstrip()) - _TITLE_INDENT, 0)
    return margin
