"""LIKE patterns."""

import re
from functools import lru_cache
from typing import Any

from ase_simulator.sql.types.values import EngineValue


def like(value: Any, pattern: Any, escape: Any = None) -> EngineValue:
    """LIKE with %, _, [a-z], [^x] and ESCAPE; case counts."""
    if value is None or pattern is None:
        return None
    return int(bool(pattern_regex(str(pattern), str(escape) if escape else "").fullmatch(str(value))))


@lru_cache(maxsize=512)
def pattern_regex(pattern: str, escape: str = "") -> re.Pattern[str]:
    """A LIKE pattern as a regular expression for the whole string; trailing blanks do not count."""
    parts, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if escape and sign == escape and at + 1 < len(pattern):
            at += 1
            parts.append(re.escape(pattern[at]))
        elif sign == "%":
            parts.append(".*")
        elif sign == "_":
            parts.append(".")
        elif sign == "[" and "]" in pattern[at + 1 :]:
            end = pattern.index("]", at + 1)
            inside = pattern[at + 1 : end]
            negated = inside.startswith("^")
            body = re.sub(r"([\\\[\]&~|])", r"\\\1", inside[1:] if negated else inside)
            parts.append(f"[{'^' if negated else ''}{body}]" if body else "(?!)")
            at = end
        else:
            parts.append(re.escape(sign))
        at += 1
    return re.compile("".join(parts).rstrip(" ") + r"\ *", re.DOTALL)
