"""Log output: text for people or JSON for machines, on stderr."""

import json
import logging
import time
from typing import Literal

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]


class _Utc(logging.Formatter):
    converter = staticmethod(time.gmtime)


class _Json(_Utc):
    def format(self, record: logging.LogRecord) -> str:
        """One object a line."""
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


_settings: tuple[Format, Level] = ("text", "warning")


def settings() -> tuple[Format, Level]:
    """What `configure` was last given, to be handed to child processes."""
    return _settings


def configure(log_format: Format, level: Level) -> None:
    """Set up the root logger."""
    global _settings
    _settings = (log_format, level)
    handler = logging.StreamHandler()
    text = _Utc("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    handler.setFormatter(_Json() if log_format == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # They log every request, at debug with what it carries; we count requests and name our address ourselves.
    for chatty in ("uvicorn", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
