"""The lines of a report without what mail clients, terminals, documents and scripts put around them."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ase_exporter.sysmon.grammar import is_named
from ase_exporter.sysmon.text import plain
from ase_exporter.sysmon.tokens import local_numbers
from ase_exporter.untrusted.entry import one_line

MAX_WIDTH = 512
TITLE = "System Performance Report"
_PROMPTS = re.compile(r"^(?:\d{1,4}> )+")
_LINE_END = re.compile(r"\r*\n|\r|\x0c")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_MARKUP = re.compile(r"(?<![*\w])\*{1,3}(?=\w)|(?<=[\w.)%])\*{1,3}(?!\*)|`{1,3}|<!--|-->")
_SERVER = re.compile(r"\s*Server Name\b", re.IGNORECASE)
# What tells where the text of a report's line begins.
_ANCHOR = re.compile(
    r"(?:Server Version|Server Name|Run Date|Sampling Started at|Sampling Ended at|Sample Interval"
    r"|Sample Mode|Counters Last Cleared|Engine \d|ThreadPool|Total [A-Z]|Granted|Waited|Avg |Cache |Average "
    r"|Lock |Procedure |Statements |Transaction |Network |={60,})",
    re.IGNORECASE,
)
_MAX_PREFIX = 100
_PREFIX_PARTS = re.compile(r"(?P<number> *\d+)|(?P<word>[^\W\d_]+)|(?P<other>.)", re.DOTALL)
_MAX_WORDS = 8
_PREFIX_SHARE = 0.9
_ANCHOR_SHARE = 0.6
_SUFFIX = re.compile(r"[^\w\s%)=\-]$")
_SUFFIX_SHARE = 0.8
_MIN_FOLDED = 10
_MAX_FOLDED_REST = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its prefix. number: in the file, from 1; offset: how much was taken off at its left."""

    number: int
    text: str
    offset: int = 0

    @property
    def blank(self) -> bool:
        return not self.text.strip()

    @property
    def words(self) -> str:
        """The text with every run of blanks made one."""
        return " ".join(self.text.split())


def raw_lines(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return _LINE_END.split(text)


def clean(raw: Sequence[tuple[int, str]]) -> list[Line]:
    """The lines of one report, given with their numbers.

    Undone are a common prefix (quote marks, line numbers, time stamps) and suffix, tabs, prompts of isql, HTML,
    control characters, and the locale of the numbers.
    """
    numbered = [(number, piece) for number, line in raw for piece in plain(line[: 4 * MAX_WIDTH])]
    texts = _without_prefix(numbered)
    # Lines are wrapped before they get a prefix, or after it: then their rests have none.
    unfolded = _unfolded(texts)
    if unfolded is not texts:
        texts = unfolded if texts is not numbered else _without_prefix(unfolded)
    suffix = _suffix([line for _, line in texts])
    locale = local_numbers(line for _, line in texts)
    before = dict(numbered)
    found: list[Line] = []
    for number, body in texts:
        prefix = max(len(before[number]) - len(body), 0)
        body = body[:MAX_WIDTH].rstrip().removesuffix(suffix).rstrip()
        if suffix == "$":
            # The mark that `cat -A` puts in the place of a tab.
            body = body.replace("^I", "\t")
        bare = _PROMPTS.sub("", body)
        line = one_line(_CONTROL.sub(" ", bare).expandtabs(8).rstrip())
        # A name may look like a number with separators: 9_10.
        line = line if is_named(line) or _SERVER.match(line) else locale.plain(line)
        if "*" in line or "`" in line:
            line = _MARKUP.sub("", line)
        found.append(Line(number, line, prefix + len(body) - len(bare)))
    return found


def is_title(raw: str) -> bool:
    """Whether a raw line holds the title of a report, prefixed or not."""
    return "erformance" in raw.casefold() and TITLE.casefold() in " ".join(plain(raw)).casefold()


def _anchor(line: str) -> int | None:
    """Where the text of a line begins that is known to be of a report."""
    bare = line.lstrip()
    start = len(line) - len(bare)
    if not bare or _ANCHOR.match(line, start):
        return start if bare else None
    # Most lines begin with a letter of their label, and need no search.
    match = None if bare[0].isalpha() and start > 1 else _ANCHOR.search(line, 0, _MAX_PREFIX + 40)
    return match.start() if match and match.start() <= _MAX_PREFIX else None


def _suffix(lines: Sequence[str]) -> str:
    """What most lines end in that is no part of them."""
    ends = Counter(
        match[0] if (match := _SUFFIX.search(line.rstrip())) else "" for line in lines if line.strip()
    )
    if not ends:
        return ""
    end, count = ends.most_common(1)[0]
    return end if count >= _SUFFIX_SHARE * ends.total() else ""


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


def _without_prefix(numbered: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines without the prefix that all of them have, be it constant or a number or a time that goes on."""
    lines = [line for _, line in numbered]
    anchors = [
        (position, start) for position, line in enumerate(lines) if (start := _anchor(line)) is not None
    ]
    prefixes = [lines[position][:start].rstrip() for position, start in anchors]
    shapes = Counter(_shape(prefix) for prefix in prefixes)
    if not shapes:
        return numbered
    shape, count = shapes.most_common(1)[0]
    words = sum(bool(match["word"]) for match in _PREFIX_PARTS.finditer(prefixes[0]))
    if not shape or count < _ANCHOR_SHARE * len(anchors) or words > _MAX_WORDS:
        return numbered
    pattern = re.compile(shape)
    matches = [pattern.match(line) for line in lines]
    filled = [position for position in range(anchors[0][0], anchors[-1][0] + 1) if lines[position].strip()]
    if sum(matches[position] is not None for position in filled) < _PREFIX_SHARE * len(filled):
        return numbered
    return [
        (number, line[match.end() :] if match else line)
        for (number, line), match in zip(numbered, matches, strict=True)
    ]


@lru_cache(maxsize=1 << 12)
def _shape(prefix: str) -> str:
    """A pattern for prefixes of one kind: numbers and words may differ, all else is the same."""
    return "".join(
        r" *\d+" if match["number"] else r"[^\W\d_]+" if match["word"] else re.escape(match["other"])
        for match in _PREFIX_PARTS.finditer(prefix)
    )
