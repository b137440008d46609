"""From a file or a list of messages to lines: tabs, prompts, carriage returns and shifted margins undone."""

import codecs
import re
from dataclasses import dataclass

MAX_WIDTH = 512
TITLE = "System Performance Report"
_TITLE_INDENT = 6
_PROMPTS = re.compile(r"^(?:\d{1,4}> )+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its prompt and margin.

    number: from 1; indent: blanks before its text; offset: how much was taken off at its left.
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


def read_lines(text: str) -> list[Line]:
    """The lines of a report; where a whole report stands indented, its margin is taken off."""
    raw = [_clean(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    lines: list[Line] = []
    margin = 0
    for number, ((line, prompt), (upcoming, _)) in enumerate(zip(raw, [*raw[1:], ("", 0)], strict=True), 1):
        margin = _margin(line, upcoming, margin)
        taken = margin if not line[:margin].strip() else 0
        cut = line[taken:]
        lines.append(Line(number, cut, len(cut) - len(cut.lstrip()), prompt + taken))
    return lines


def decode(data: bytes) -> str:
    """The text of a file: UTF-16 by its byte order mark, else UTF-8; bytes that are neither become marks."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _clean(line: str) -> tuple[str, int]:
    """The line without prompt, tabs and control characters, and the length of its prompt."""
    bare = _PROMPTS.sub("", line[:MAX_WIDTH])
    text = _CONTROL.sub(" ", bare).expandtabs(8).rstrip()
    return text, min(len(line), MAX_WIDTH) - len(bare)


def _margin(line: str, upcoming: str, margin: int) -> int:
    """How far the report is shifted: known again at each title, from the rule above it on."""
    for candidate in (line, upcoming):
        if candidate.endswith(TITLE):
            return max(len(candidate) - len(candidate.lstrip()) - _TITLE_INDENT, 0)
    return margin
