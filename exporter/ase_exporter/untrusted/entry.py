"""What text of others becomes when it enters: one line of printable characters."""

import json
from typing import Any


def one_line(text: str) -> str:
    r"""Text in which line breaks, escape sequences and characters without a shape are escaped: `\n`, `\x1b`, `\u202e`.

    Different texts stay different, unless they hold such escapes themselves.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def load_json(content: str | bytes) -> Any:
    """What JSON of another program says, with each text as one line. Raises ValueError."""
    try:
        return _line(json.loads(content, object_hook=_lines))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _lines(found: dict[str, Any]) -> dict[str, Any]:
    return {one_line(name): _line(value) for name, value in found.items()}


def _line(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    return [_line(each) for each in value] if isinstance(value, list) else value
