"""Sets up logging: text or JSON lines, on stderr."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.redaction import redact

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]


class _Utc(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # of logging
        """One line, without the line breaks and the escape sequences that a server may put into its messages."""
        record.message = one_line(redact(record.message))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # of logging
        """The traceback without secrets."""
        return redact(super().formatException(ei))


class _Json(_Utc):
    def format(self, record: logging.LogRecord) -> str:
        """One object a line."""
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


# In REPEAT_SECONDS: how often the same line is written, and how many lines of one place in the code.
REPEAT_SECONDS = 60.0
MAX_EQUAL_LINES = 3
MAX_LINES_OF_A_PLACE = 300


class RepeatFilter(logging.Filter):
    """Drops lines that repeat, so that no fault and no caller can fill a disk. What was dropped is counted.

    The first line of a place after REPEAT_SECONDS says how many of them are missing.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._places: dict[tuple[str, int], _Place] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the record; notes in it how many like it were not written."""
        key, now = (record.pathname, record.lineno), self._monotonic()
        place = self._places.get(key)
        dropped = 0
        if place is None or now - place.since > REPEAT_SECONDS:
            dropped = place.dropped if place else 0
            place = self._places[key] = _Place(now)
        text = record.getMessage()
        place.lines += 1
        # Once too many lines have been written none of them is, so their texts are not needed.
        if place.lines <= MAX_LINES_OF_A_PLACE:
            place.texts[text] += 1
            if place.texts[text] <= MAX_EQUAL_LINES:
                if dropped:
                    record.msg, record.args = f"{text} ({dropped} lines like this were left out before)", ()
                return True
        place.dropped += 1
        return False


@dataclass(slots=True)
class _Place:
    """A place in the code that logs. lines, texts and dropped: since the last REPEAT_SECONDS began."""

    since: float
    lines: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    dropped: int = 0


def configure(log_format: Format, level: Level) -> None:
    """Set up the root logger."""
    handler = logging.StreamHandler()
    text = _Utc("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    handler.addFilter(RepeatFilter())
    handler.setFormatter(_Json() if log_format == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # They log every request, at debug level with its content; requests are counted as metrics instead.
    for chatty in ("uvicorn", "httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
