"""What may leave the server: text of others without SQL statements, control characters and excessive length."""

import re
from typing import Any

from ase_exporter.untrusted.entry import one_line
from ase_exporter.views.plain import as_json
from ase_exporter.views.view import Foreign, Quoting

MAX_TEXT = 300
# Characters that are searched for a statement: the search takes the square of it.
_SEARCHED = 4000
LEFT_OUT = "(left out: looks like an SQL statement)"
# The beginnings of statements that hold data. `exec sp_...` and `set` change settings, and audits show them.
_STATEMENT = re.compile(
    r"(?is)\b(?:select\b.+\bfrom\b|insert\b(?:\s+into)?\s+\S+.*(?:\bvalues\b|\bselect\b)|update\s+\S+\s+set\b"
    r"|delete\s+(?:from\s+)?\S+\s+where\b|where\s+\S+\s*(?:=|<|>|\bin\b|\blike\b)|merge\s+into\b)"
)


def encoded(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as it leaves: with six digits, as more would say more than is known, and with text of others encoded.

    foreign: the names of the fields that hold text of others, also of inner ones.
    """
    foreign: set[str] = set()

    def text(key: str, value: Foreign) -> str:
        foreign.add(key)
        return one_line(value) if isinstance(value, Quoting) else public_text(value)

    found: dict[str, Any] = as_json(answer, text, lambda value: float(f"{value:.6g}"))
    return found | {"foreign": sorted(foreign)}


def public_text(text: object) -> str:
    """Text from labels, changes and reports as an answer may hold it."""
    words = str(text)[:_SEARCHED]
    if _STATEMENT.search(words):
        return LEFT_OUT
    line = one_line(words)
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"
