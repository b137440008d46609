"""`ase-exporter top`: chooses the server, then the screen or plain text."""

import curses
import logging
import os
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from ase_exporter import logs
from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.options import choose_target, load_config, require
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.readings.live import TargetSampler
from ase_exporter.readings.recording import Recording
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT
from ase_exporter.top import plain
from ase_exporter.top.feed import Feed, LiveFeed, ReplayFeed, first_frame
from ase_exporter.top.text import glyphs
from ase_exporter.untrusted.terminal import PlainConsole

INTERVAL = 2.0
# Long enough for counters of whole seconds.
ONCE_INTERVAL = 10.0


def top(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    interval: float | None = None,
    once: bool = False,
    record: Path | None = None,
    replay: Path | None = None,
    sql: bool = False,
) -> None:
    once = once or not sys.stdout.isatty()
    if not once:
        require("textual", "top", "top needs textual for its screen", "--once needs nothing")
        if not _terminal_is_known() or not curses.tigetstr("cup"):
            term = os.environ.get("TERM", "")
            raise UserError(
                f"top needs a terminal that can move its cursor, not TERM={term}; --once needs none"
            )
    logs.configure("text", "error")
    feed: LiveFeed | ReplayFeed
    if replay is None:
        pause = interval or (ONCE_INTERVAL if once else INTERVAL)
        loaded, chosen = choose_target(load_config(config_file), target, user, password)
        groups = (SESSIONS, STATEMENTS, *([TEXT] if sql else ()))
        feed = LiveFeed(_sampler(loaded, chosen, pause, record, groups))
    elif target or record:
        raise UserError(
            "--replay: shows a file and no server; expected neither --target nor --record with it"
        )
    else:
        feed = ReplayFeed(replay, load_catalogue()[0], interval=interval)
    if once:
        _print_once(feed)
    else:
        _show(feed)


def _sampler(
    loaded: Config, target: Target, interval: float, record: Path | None, groups: Sequence[str]
) -> TargetSampler:
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    for problem in problems:
        print(f"ase-exporter: {problem}", file=sys.stderr)
    recorded: dict[str, Any] = {}
    if record is not None:
        recording = Recording(record, interval)
        recorded = {"open_connection": recording.recorder.open, "save": recording.save}
    return TargetSampler(loaded, target, catalogue, interval, groups=groups, **recorded)


def _terminal_is_known() -> bool:
    try:
        curses.setupterm(fd=sys.__stdout__.fileno() if sys.__stdout__ else -1)
    except curses.error:
        return False
    return True


def _show(feed: Feed) -> None:
    from ase_exporter.top.app import TopApp

    # Errors of a server are on the screen; a log line would break it.
    logging.getLogger().handlers[:] = [logging.NullHandler()]
    if _terminal_is_known() and curses.tigetnum("colors") < 8:
        os.environ["NO_COLOR"] = "1"
    if failed := TopApp(feed, glyphs(sys.stdout.encoding)).run():
        raise failed


def _print_once(feed: LiveFeed | ReplayFeed) -> None:
    """Print the first frame, or the last one of a recording. Raises UserError if the server does not answer."""
    found = first_frame(feed) if isinstance(feed, LiveFeed) else deque(feed.frames(), maxlen=1)[0]
    PlainConsole().print(*plain.report(found, glyphs(sys.stdout.encoding)), sep="\n")
    sys.stdout.flush()
    if found.sample.error:
        raise UserError(f"target {found.sample.target}: {found.sample.error}")
    if not found.diagnosis.is_known:
        raise typer.Exit(1)
