"""What the terminal can do, by its entry in terminfo and by NO_COLOR."""

import curses
import os
import sys

from ase_exporter.errors import UserError


def require_screen() -> None:
    """Raises UserError if the terminal cannot show a screen."""
    if not _known() or not curses.tigetstr("cup"):
        term = os.environ.get("TERM", "")
        raise UserError(
            f"top needs a terminal that can move its cursor, not TERM={term}; --once and --json need none"
        )


def without_colours() -> bool:
    """Whether NO_COLOR is set, or the terminal has no colours."""
    return "NO_COLOR" in os.environ or (_known() and curses.tigetnum("colors") < 8)


def _known() -> bool:
    try:
        curses.setupterm(fd=sys.__stdout__.fileno() if sys.__stdout__ else -1)
    except curses.error:
        return False
    return True
