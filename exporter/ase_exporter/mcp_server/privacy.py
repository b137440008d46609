"""What may leave the server: text of others without SQL statements, control characters and excessive length."""

import re

from ase_exporter.untrusted.entry import one_line

MAX_TEXT = 300
# Characters that are searched for a statement: the search takes the square of it.
_SEARCHED = 4000
LEFT_OUT = "(left out: looks like an SQL statement)"
# The beginnings of statements that hold data. `exec sp_...` and `set` change settings, and audits show them.
_STATEMENT = re.compile(
    r"(?is)\b(?:select\b.+\bfrom\b|insert\b(?:\s+into)?\s+\S+.*(?:\bvalues\b|\bselect\b)|update\s+\S+\s+set\b"
    r"|delete\s+(?:from\s+)?\S+\s+where\b|where\s+\S+\s*(?:=|<|>|\bin\b|\blike\b)|merge\s+into\b)"
)


def public_text(text: object) -> str:
    """Text from labels, changes and reports as an answer may hold it."""
    words = str(text)[:_SEARCHED]
    if _STATEMENT.search(words):
        return LEFT_OUT
    line = one_line(words)
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"
