"""sp_sysmon: a report of an interval, or of the time between begin_sample and end_sample.

Whether an interval without an option clears the counters depends on the version, as in ASE.
"""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary

from ase_simulator.contracts import Server
from ase_simulator.results import Message, Result
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
_USAGE = (
    "sp_sysmon {'begin_sample' | {{'end_sample' | 'hh:mm:ss'} [, section]}} [, @applmon = {'appl_only' | "
    "'appl_and_login' | 'no_appl' | 'noclear' | 'clear'} [, @filter = {cache wizard filter | 'noclear' | 'clear'} "
    "[, @dumpcounters = {'y' | 'n' | 'noclear' | 'clear' | NULL} [, @option = {'noclear' | 'clear' | NULL}]]]]"
)
_TEXTS = {
    17197: "sp_sysmon is being run by another session; its work tables in tempdb are in use.",
    18179: f"Usage: {_USAGE}",
    18534: f"Invalid section name. The valid names are: {', '.join(_KEYWORDS)}.",
    18544: "The section name is ignored with begin_sample.",
    19361: "The 'noclear' option can only be used with an interval.",
    19374: "There is no sample to end: run sp_sysmon 'begin_sample' first.",
    19449: "The options 'clear' and 'noclear' cannot be used together.",
}


@dataclass(slots=True)
class _Desk:
    """State of sp_sysmon on one server: the start of a sample, and whether a session is running it."""

    begun: Snapshot | None = None
    busy: bool = False


_DESKS: WeakKeyDictionary[Server, _Desk] = WeakKeyDictionary()


async def sp_sysmon(call: ProcedureCall) -> AsyncIterator[Result]:
    """One report, as PRINT messages."""
    desk = _DESKS.setdefault(call.server, _Desk())
    request = _read(call, desk)
    if isinstance(request, int):
        call.status = 1
        yield _message(request)
        return
    desk.busy = True
    try:
        if request.begins:
            if request.section:
                yield _message(18544)
            call.server.clear_monitors()
            desk.begun = take(call.server)
            return
        start, desk.begun = desk.begun, None
        cleared: datetime | None = None
        if request.seconds is not None:
            if request.clears:
                call.server.clear_monitors()
            else:
                cleared = _cleared(call)
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


def _cleared(call: ProcedureCall) -> datetime:
    """When the counters were last cleared."""
    for row in call.rows("monState"):
        moment = row["CountersCleared"]
        assert isinstance(moment, datetime)
        return moment
    return call.server.now()


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


def _message(number: int) -> Message:
    return Message(number, 0, 1, _TEXTS[number], _NAME)


_PARAMETERS = (
    "@interval char(12) = null, @section char(80) = null, @applmon varchar(30) = null, @filter varchar(255) = null, "
    "@dumpcounters varchar(30) = null, @option varchar(30) = null"
)
SYSMON = SystemProcedure(_NAME, Parser(tokenize(_PARAMETERS)).parameters(), sp_sysmon, "sa_role")
