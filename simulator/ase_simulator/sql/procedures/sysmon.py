"""sp_sysmon: a report of an interval, or of the time between begin_sample and end_sample.

Whether an interval without an option clears the counters depends on the version, as in ASE.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from weakref import WeakKeyDictionary

from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Message, Result
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError, message
from ase_simulator.sysmon_report.collect import collect
from ase_simulator.sysmon_report.page import SECTIONS
from ase_simulator.sysmon_report.report import write
from ase_simulator.sysmon_report.snapshot import Growth, Snapshot, take

_INTERVAL = re.compile(r"(\d{2}):([0-5]\d):([0-5]\d)")
_APPLICATIONS = ("appl_only", "appl_and_login", "no_appl")
_CLEARING_VERSIONS = ("12.5", "15.7")
_KEYWORDS = tuple(name for name in SECTIONS if name != "nvcache")


@dataclass(slots=True)
class _Desk:
    """State of sp_sysmon on one server: the start of a sample, and whether a session is running it."""

    begun: Snapshot | None = None
    busy: bool = False


_DESKS: WeakKeyDictionary[SimulatedServer, _Desk] = WeakKeyDictionary()


async def sp_sysmon(session: Context, arguments: Mapping[str, str]) -> AsyncIterator[Result]:
    """One report, as PRINT messages; raises SqlError. arguments: by parameter, '' for NULL."""
    server = session.server
    desk = _DESKS.setdefault(server, _Desk())
    request = _read(server.version, arguments, desk)
    if isinstance(request, int):
        raise SqlError(request, ", ".join(_KEYWORDS))
    desk.busy = True
    try:
        if request.begins:
            if request.section:
                yield message(18544)
            server.clear_monitors()
            desk.begun = take(server)
            return
        start, desk.begun = desk.begun, None
        cleared: datetime | None = None
        if request.seconds is not None:
            if request.clears:
                server.clear_monitors()
            else:
                cleared = cast(datetime, next(iter(server.table("monState")))["CountersCleared"])
            start = take(server)
            await server.sleep(request.seconds)
        assert start is not None
        growth = Growth(start, take(server))
        sample = collect(
            growth,
            server=server.name,
            version=server.version,
            banner=session.profile.banner,
            interval_s=request.seconds if request.seconds is not None else growth.elapsed_ms // 1000,
            cleared=cleared,
        )
        for line in write(sample, request.section).lines:
            yield Message(0, 10, 1, line)
    finally:
        desk.busy = False


@dataclass(frozen=True, slots=True)
class _Request:
    """seconds: of an interval, None for end_sample and begin_sample."""

    seconds: int | None
    section: str | None
    clears: bool
    begins: bool


def _read(version: str, arguments: Mapping[str, str], desk: _Desk) -> _Request | int:
    """Parsed parameters, or the number of an error message."""
    what, *slots = (value.rstrip(" ").lower() for value in arguments.values())
    options = {slot for slot in slots if slot in ("clear", "noclear")}
    section = slots[0] if slots[0] not in ("", "clear", "noclear") else None
    interval = _INTERVAL.fullmatch(what)
    begins = what == "begin_sample"
    if section in _APPLICATIONS:
        section = None
    number = _rejection(desk, what, bool(interval), options, section)
    if number is not None:
        return number
    seconds = None
    if interval:
        hours, minutes, rest = map(int, interval.groups())
        seconds = hours * 3600 + minutes * 60 + rest
    clears = "clear" in options or (not options and version.startswith(_CLEARING_VERSIONS))
    return _Request(seconds, section, clears, begins)


def _rejection(desk: _Desk, what: str, interval: bool, options: set[str], section: str | None) -> int | None:
    if not interval and what not in ("begin_sample", "end_sample"):
        return 18179
    if len(options) == 2:
        return 19449
    if "noclear" in options and not interval:
        return 19361
    if section and section not in _KEYWORDS and what != "begin_sample":
        return 18534
    if desk.busy:
        return 17197
    return 19374 if what == "end_sample" and desk.begun is None else None
