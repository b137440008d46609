"""sp_sysmon: a report of an interval.

Whether an interval without an option clears the counters depends on the version, as in ASE.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from ase_simulator.results import Message, Result
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sysmon_report.collect import collect
from ase_simulator.sysmon_report.page import SECTIONS
from ase_simulator.sysmon_report.report import write
from ase_simulator.sysmon_report.snapshot import Growth, take

_INTERVAL = re.compile(r"(\d{2}):([0-5]\d):([0-5]\d)")
_APPLICATIONS = ("appl_only", "appl_and_login", "no_appl")
_CLEARING_VERSIONS = ("12.5", "15.7")
_KEYWORDS = tuple(name for name in SECTIONS if name != "nvcache")


async def sp_sysmon(session: Context, arguments: Mapping[str, str]) -> AsyncIterator[Result]:
    """One report, as PRINT messages; raises SqlError. arguments: by parameter, '' for NULL."""
    server = session.server
    request = _read(server.version, arguments)
    if isinstance(request, int):
        raise SqlError(request, ", ".join(_KEYWORDS))
    cleared: datetime | None = None
    if request.clears:
        server.clear_monitors()
    else:
        cleared = cast(datetime, next(iter(server.table("monState")))["CountersCleared"])
    start = take(server)
    await server.sleep(request.seconds)
    sample = collect(
        Growth(start, take(server)),
        server=server.name,
        version=server.version,
        banner=session.profile.banner,
        interval_s=request.seconds,
        cleared=cleared,
    )
    for line in write(sample, request.section).lines:
        yield Message(0, 10, 1, line)


@dataclass(frozen=True, slots=True)
class _Request:
    """A report of so many seconds."""

    seconds: int
    section: str | None
    clears: bool


def _read(version: str, arguments: Mapping[str, str]) -> _Request | int:
    """Parsed parameters, or the number of an error message."""
    what, *slots = (value.rstrip(" ").lower() for value in arguments.values())
    if what in ("begin_sample", "end_sample"):
        raise NotSimulatedError(f"sp_sysmon {what}")
    interval = _INTERVAL.fullmatch(what)
    if not interval:
        return 18179
    options = {slot for slot in slots if slot in ("clear", "noclear")}
    if len(options) == 2:
        return 19449
    section = slots[0] if slots[0] not in ("", "clear", "noclear", *_APPLICATIONS) else None
    if section and section not in _KEYWORDS:
        return 18534
    hours, minutes, rest = map(int, interval.groups())
    clears = "clear" in options or (not options and version.startswith(_CLEARING_VERSIONS))
    return _Request(hours * 3600 + minutes * 60 + rest, section, clears)
