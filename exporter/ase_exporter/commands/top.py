"""`ase-exporter top`: chooses the servers, then the screen, plain text or JSON."""

import curses
import logging
import os
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ase_exporter import logs
from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.options import choose_targets, load_config, require
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.readings.live import TargetSampler
from ase_exporter.readings.recording import Recording
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT
from ase_exporter.top import plain
from ase_exporter.top.feed import Feed, LiveFeed, ReplayFeed, first_frames, frames
from ase_exporter.top.text import glyphs
from ase_exporter.untrusted.terminal import PlainConsole

INTERVAL = 2.0
# Long enough for counters of whole seconds.
ONCE_INTERVAL = 10.0
LIMITS = (1.0, 60.0)
# One thread and one connection each.
MAX_TARGETS = 100


def top(
    config_file: Path | None = None,
    targets: list[str] | None = None,
    user: str | None = None,
    password: bool = False,
    interval: float | None = None,
    once: bool = False,
    json: bool = False,
    record: Path | None = None,
    replay: Path | None = None,
    sql: bool = False,
) -> None:
    once = once or not (json or sys.stdout.isatty())
    screen = not once and not json
    if screen:
        require("textual", "top", "top needs textual for its screen", "--once and --json need nothing")
        _require_screen()
    logs.configure("text", "error")
    feed: LiveFeed | ReplayFeed
    if replay is None:
        pause = _checked(interval if interval is not None else ONCE_INTERVAL if once else INTERVAL)
        loaded, chosen = choose_targets(load_config(config_file), targets or (), user, password)
        groups = (SESSIONS, STATEMENTS, *([TEXT] if sql else ()))
        feed = LiveFeed(_samplers(loaded, chosen, pause, record, groups))
    elif targets or record:
        raise UserError(
            "--replay: shows a file and no server; expected neither --target nor --record with it"
        )
    else:
        pace = None if interval is None else _checked(interval)
        feed = ReplayFeed(replay, load_catalogue()[0], interval=pace)
    try:
        if screen:
            _show(feed)
        elif once:
            _print_once(feed, json)
        else:
            for each in feed.frames() if isinstance(feed, ReplayFeed) else frames(feed):
                print(plain.as_json(each), flush=True)
    except BrokenPipeError:
        # The reader has gone, as with `| head`. Python would complain again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _checked(interval: float) -> float:
    if not LIMITS[0] <= interval <= LIMITS[1]:
        raise UserError(f"--interval: {interval:g} s: expected {LIMITS[0]:g} s to {LIMITS[1]:g} s")
    return interval


def _samplers(
    loaded: Config, targets: Sequence[Target], interval: float, record: Path | None, groups: Sequence[str]
) -> list[TargetSampler]:
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    for problem in problems:
        print(f"ase-exporter: {problem}", file=sys.stderr)
    if len(targets) > MAX_TARGETS:
        raise UserError(
            f"--target: {len(targets)} targets: expected at most {MAX_TARGETS}; choose some of them"
        )
    recorded: dict[str, Any] = {}
    if record is not None:
        if len(targets) > 1:
            raise UserError("--record: records one server; choose it by --target")
        recording = Recording(record, interval)
        recorded = {"open_connection": recording.recorder.open, "save": recording.save}
    return [
        TargetSampler(loaded, target, catalogue, interval, groups=groups, **recorded) for target in targets
    ]


def _require_screen() -> None:
    if not _terminal_is_known() or not curses.tigetstr("cup"):
        term = os.environ.get("TERM", "")
        raise UserError(
            f"top needs a terminal that can move its cursor, not TERM={term}; --once and --json need none"
        )


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


def _print_once(feed: LiveFeed | ReplayFeed, json: bool) -> None:
    """Print the first frame of each server, or the last one of a recording. Raises UserError for what failed."""
    found = first_frames(feed) if isinstance(feed, LiveFeed) else list(deque(feed.frames(), maxlen=1))
    if json:
        for each in found:
            print(plain.as_json(each))
    else:
        PlainConsole().print(*plain.report(found, glyphs(sys.stdout.encoding)), sep="\n")
    sys.stdout.flush()
    failed = [f"target {each.sample.target}: {each.sample.error}" for each in found if each.sample.error]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise UserError(failed[0] + more)
