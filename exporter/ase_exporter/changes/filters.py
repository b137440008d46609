"""Which changes a user wants, out of the words of a command line or a URL."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from ase_exporter.changes.change import HOST
from ase_exporter.changes.store import Filter
from ase_exporter.errors import UserError

_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST = 100_000


def parse_filter(words: Mapping[str, str], limit: int) -> Filter:
    """From target, kind, text, since, until, limit; others are passed over. UserError names the bad one."""
    target = words.get("target") or None
    return Filter(
        target="" if target == HOST else target,
        kind=words.get("kind", ""),
        text=words.get("text", ""),
        since=parse_time(words["since"], "since") if words.get("since") else None,
        until=parse_time(words["until"], "until") if words.get("until") else None,
        limit=_limit(words["limit"]) if words.get("limit") else limit,
    )


def parse_time(text: str, what: str, now: float | None = None) -> float:
    """`2h` (ago), Unix seconds, or a date with or without a time (UTC unless it says otherwise)."""
    text = text.strip()
    if match := _AGO.fullmatch(text):
        return (time.time() if now is None else now) - float(match[1]) * _SECONDS[match[2]]
    if re.fullmatch(r"\d{9,12}(\.\d+)?", text):
        return float(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(
            f"{what}: {text!r}: expected a time: 2h (ago), 2026-05-04, 2026-05-04T10:30 or Unix seconds"
        ) from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise UserError(f"limit: {text!r}: expected a number from 1 to {MOST}")
    return int(text)
