"""sp_sysmon: a report of an interval, or of the time between begin_sample and end_sample.

Whether an interval without an option clears the counters depends on the version, as in ASE.
"""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from weakref import WeakKeyDictionary

from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Result
from ase_simulator.sql.errors import message
from ase_simulator.sql.procedures.registry import ProcedureCall, SystemProcedure, print_line
from ase_simulator.sql.syntax.lexer import tokenize
from ase_simulator.sql.syntax.parser import Parser
from ase_simulator.sysmon_report.collect import collect
from ase_simulator.sysmon_report.page import SECTIONS
from ase_simulator.sysmon_report.report import write
from ase_simulator.sysmon_report.snapshot import Growth, Snapshot, take

_NAME = "sp_sysmon"
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


async def sp_sysmon(call: ProcedureCall) -> AsyncIterator[Result]:
    """One report, as PRINT messages."""
    desk = _DESKS.setdefault(call.server, _Desk())
    request = _read(call, desk)
    if isinstance(request, int):
        call.status = 1
        yield message(request, ", ".join(_KEYWORDS))
        return
    desk.busy = True
    try:
        if request.begins:
            if request.section:
                yield message(18544)
            call.server.clear_monitors()
            desk.begun = take(call.server)
            return
        start, desk.begun = desk.begun, None
        cleared: datetime | None = None
        if request.seconds is not None:
            if request.clears:
                call.server.clear_monitors()
            else:
                cleared = cast(datetime, call.rows("monState")[0]["CountersCleared"])
            start = take(call.server)
            await call.server.sleep(request.seconds)
        assert start is not None
        for result in _report(call, request, start, cleared):
            yield result
    finally:
        desk.busy = False


@dataclass(frozen=True, slots=True)
class _Request:
    """seconds: of an interval, None for end_sample and begin_sample."""

    seconds: int | None
    section: str | None
    clears: bool
    begins: bool


def _read(call: ProcedureCall, desk: _Desk) -> _Request | int:
    """Parsed parameters, or the number of an error message."""
    what = (call.text("@interval") or "").lower()
    slots = [
        (call.text(name) or "").lower()
        for name in ("@section", "@applmon", "@filter", "@dumpcounters", "@option")
    ]
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
    clears = "clear" in options or (not options and call.server.version.startswith(_CLEARING_VERSIONS))
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


def _report(
    call: ProcedureCall, request: _Request, start: Snapshot, cleared: datetime | None
) -> Iterator[Result]:
    growth = Growth(start, take(call.server))
    sample = collect(
        growth,
        server=call.server.name,
        version=call.server.version,
        banner=call.session.profile.banner,
        interval_s=request.seconds if request.seconds is not None else growth.elapsed_ms // 1000,
        cleared=cleared,
    )
    for line in write(sample, request.section).lines:
        yield print_line(line)


_PARAMETERS = (
    "@interval char(12) = null, @section char(80) = null, @applmon varchar(30) = null, @filter varchar(255) = null, "
    "@dumpcounters varchar(30) = null, @option varchar(30) = null"
)
SYSMON = SystemProcedure(_NAME, Parser(tokenize(_PARAMETERS)).parameters(), sp_sysmon, "sa_role")
