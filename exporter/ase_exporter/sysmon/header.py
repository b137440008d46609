"""What a report has beside its sections: a header, server errors, and lines of the client."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from ase_exporter.sysmon.lines import ReportLine
from ase_exporter.sysmon.structure import Header, Remark, ServerMessage

_TIMES = (
    "Run Date",
    "Sampling Started at",
    "Sampling Ended at",
    "Statistics Cleared at",
    "Statistics Sampled at",
    "Counters Last Cleared",
)
# Of every release that has a list of its rows.
_ALWAYS = (
    "Server Name",
    "Run Date",
    "Sampling Started at",
    "Sampling Ended at",
    "Sample Interval",
    "Sample Mode",
)
_MODES = ("No Clear", "Reset Counters")
_KEYS = ("Server Version", "Server Name", "Sample Interval", "Sample Mode", *_TIMES)
_ENTRY = re.compile(r"(?P<key>[A-Z][\w/ ]{1,40}?) *: *(?P<value>.*)")
# The instance whose sections follow, where a cluster names one.
INSTANCE = re.compile(r"Instance(?: Name| ID)? *: *(?P<name>[^ ].*)")
# A version goes on below a line of that width; blanks may have been lost from it.
_WRAPPED_AT, _WRAPPED_FROM = 56, 54
_CLOCK = re.compile(r"(\d{2,4}):(\d{2}):(\d{2})")
_SECONDS = re.compile(r"(\d{1,6}) ?s")
# What sp_sysmon prints, and the server's own style.
_FORMS = (
    *("%b %d, %Y %H:%M:%S", "%b %d, %Y"),
    *("%b %d %Y %I:%M%p", "%b %d %Y %I:%M:%S%p", "%b %d %Y %I:%M:%S:%f%p", "%b %d %Y %I:%M:%S.%f%p"),
)
RETURN_STATUS = re.compile(r"\(return status = (-?\d{1,10})\)")
# Lines of isql, which counts rows in any language, and of dbcc.
CLIENT = re.compile(r"\(\d+ [^\d()]+\)|DBCC execution completed\..*|\d{1,4}> .*")
_MESSAGE = re.compile(
    r"Msg (?P<number>\d{1,9}), Level (?P<level>\d{1,3}), State \d{1,9}:?(?:, (?P<origin>.*))?"
)
_ORIGIN = re.compile(r"(?:Server|Procedure|Line) .*")
_PROCEDURE = re.compile(r"Procedure '?(?P<name>\w{1,60})'?")


class HeaderReader:
    """Collects header lines."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self._lines: dict[str, int] = {}
        self._goes_on = False

    def take(self, line: ReportLine) -> bool:
        """Whether this line belongs to the header; if so, it is kept."""
        text = line.text.strip()
        entry = _ENTRY.fullmatch(text)
        if entry is None:
            return self._continue(text)
        key, value = " ".join(entry["key"].split()), entry["value"]
        self._goes_on = key == "Server Version" and len(value) >= _WRAPPED_FROM
        self._lines.setdefault(key, line.number)
        return self._entries.setdefault(key, value) == value

    def _continue(self, text: str) -> bool:
        """A version goes on below, broken at a width, within words too."""
        if not self._goes_on:
            return False
        value = self._entries["Server Version"]
        self._entries["Server Version"] = value.ljust(-(-len(value) // _WRAPPED_AT) * _WRAPPED_AT) + text
        self._goes_on = len(text) >= _WRAPPED_FROM
        return True

    def header(self) -> Header:
        """The header collected so far."""
        entries = self._entries
        return Header(
            server=entries.get("Server Name", ""),
            version=entries.get("Server Version", ""),
            started=self._time("Sampling Started at", "Statistics Cleared at"),
            ended=self._time("Sampling Ended at", "Statistics Sampled at"),
            interval=_interval(entries.get("Sample Interval", "")),
            mode=entries.get("Sample Mode", ""),
            cleared=self._time("Counters Last Cleared", "Statistics Cleared at"),
            other={key: value for key, value in entries.items() if key not in _KEYS},
        )

    def missing(self) -> list[str]:
        """The lines that every header has, and this one has not."""
        return [f"{key} in the header" for key in _ALWAYS if not self._entries.get(key)]

    def unread(self) -> list[Remark]:
        """Values in no known form, such as names of months in another language."""
        readable: dict[str, object] = {key: self._time(key) for key in _TIMES}
        readable["Sample Interval"] = _interval(self._entries.get("Sample Interval", ""))
        readable["Sample Mode"] = self._entries.get("Sample Mode") in _MODES
        return [
            Remark(self._lines[key], f"{key}: not known: {self._entries[key]!r}")
            for key, value in readable.items()
            if self._entries.get(key) and value in (None, False)
        ]

    def _time(self, *keys: str) -> datetime | None:
        """The first of these times that is present; a time without a date is on the run date."""
        text = next((self._entries[key] for key in keys if self._entries.get(key)), "")
        for candidate in (text, f"{self._entries.get('Run Date', '')} {text}") if text else ():
            for form in _FORMS:
                try:
                    return datetime.strptime(" ".join(candidate.split()), form)
                except ValueError:
                    continue
        return None


def server_message(lines: Sequence[ReportLine], at: int) -> tuple[ServerMessage, int] | None:
    """The error that starts at this line as isql prints it, and the position after it; None where there is none."""
    match = _MESSAGE.fullmatch(lines[at].text)
    if match is None:
        return None
    position = at + 1
    origins = [match["origin"] or ""]
    while position < len(lines) and _ORIGIN.fullmatch(lines[position].text):
        origins.append(lines[position].text)
        position += 1
    text = ""
    below = lines[position].text if position < len(lines) else ""
    if below.strip(" -=") and not RETURN_STATUS.fullmatch(below) and not _MESSAGE.fullmatch(below):
        text = lines[position].text.strip()
        position += 1
    procedure = next((name["name"] for origin in origins if (name := _PROCEDURE.search(origin))), "")
    return ServerMessage(
        lines[at].number, int(match["number"]), int(match["level"]), text, procedure
    ), position


def _interval(text: str) -> timedelta | None:
    if match := _SECONDS.fullmatch(text):
        return timedelta(seconds=int(match[1]))
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = map(int, match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
