"""What a report has beside its sections: a header, its return status, server errors, and chatter of clients."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import Header, ServerMessage

_TIME_KEYS = (
    "Run Date",
    "Sampling Started at",
    "Sampling Ended at",
    "Statistics Cleared at",
    "Statistics Sampled at",
    "Counters Last Cleared",
)
_KEYS = ("Server Version", "Server Name", "Sample Interval", "Sample Mode", *_TIME_KEYS)
_INSTANCE = re.compile(r"Instance(?: Name| ID)?\s*:\s*(?P<name>\S.*)", re.IGNORECASE)
_ENTRY = re.compile(rf"(?P<key>{'|'.join(_KEYS)})\s*(?::|(?<=\s)(?=\S))\s*(?P<value>.*)", re.IGNORECASE)
_OTHER = re.compile(r"(?P<key>[A-Z][\w/ ]{1,40}?)\s*:\s*(?P<value>.*)")
_SPELLING = {key.casefold(): key for key in _KEYS}
_WRAPPED_AT = 56
_MAX_CONTINUATIONS = 4
_INTERVAL = re.compile(r"(\d{2,4}):?(\d{2}):?(\d{2})")
_TIMES = ("%b %d, %Y %H:%M:%S", "%b %d, %Y %H%M%S", "%b %d %Y %H:%M:%S", "%b %d, %Y", "%b %d %Y")
_RETURN_STATUS = re.compile(r"\(return status = (-?\d{1,10})\)")
_CHATTER = re.compile(
    r"\(\d+ rows? affected\)"
    r"|DBCC execution completed\..*"
    r"|\d{1,4}>.*"
    r"|go(?: \d+)?"
    r"|(?:exec(?:ute)?\s+)?(?:sybsystemprocs\.\.)?sp_sysmon\b.*"
)
# isql and tsql; tsql ends the same line with the origin.
_MESSAGE = re.compile(
    r"Msg (?P<number>\d{1,9})(?: \(severity (?P<severity>\d{1,3}), state \d{1,9}\)"
    r"|,? Level (?P<level>\d{1,3}),? State \d{1,9}):?(?P<rest>.*)"
)
# The forms of CT-Library's and Open Client's default callbacks.
_CT_LIBRARY = re.compile(
    r"(?:Server message|CT-LIBRARY error|Open Client Message|CT-Library error):?.*", re.IGNORECASE
)
_CT_NUMBER = re.compile(
    r"(?:message )?number[ :=(]+(?P<number>\d{1,9})\)?,? *severity[ :=(]+(?P<level>\d{1,3})\)?.*",
    re.IGNORECASE,
)
_ORIGIN = re.compile(r"(?:from )?(?:Server|Procedure|Line)\b.*", re.IGNORECASE)
_SAME_LINE_ORIGIN = re.compile(r"(?:from\b|Server\b|Procedure\b|Line\b)", re.IGNORECASE)
_PROCEDURE = re.compile(r"procedure:? '?(?P<name>\w{1,60})'?", re.IGNORECASE)
_MAX_MESSAGE_LINES = 3


class HeaderReader:
    """Collects header lines. conflicts: keys that were there again, with another value."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.conflicts: list[tuple[int, str]] = []
        self._continued = 0

    def take(self, line: Line, above: bool) -> bool:
        """Whether this line belongs to the header; if so, it is kept. above: no section has been read."""
        text = line.text.strip()
        entry = _ENTRY.fullmatch(text) or (_OTHER.fullmatch(text) if above and self.entries else None)
        if entry is None:
            return self._continue(text)
        key, value = " ".join(entry["key"].split()), entry["value"].strip()
        key = _SPELLING.get(key.casefold(), key)
        if self.entries.setdefault(key, value) != value:
            self.conflicts.append((line.number, key))
        self._continued = _MAX_CONTINUATIONS if key == "Server Version" else 0
        return True

    def _continue(self, text: str) -> bool:
        """A version goes on below, broken at a width, within words too."""
        if not self._continued or not any(map(str.isalnum, text)):
            return False
        value = self.entries["Server Version"]
        self.entries["Server Version"] = value.ljust(-(-len(value) // _WRAPPED_AT) * _WRAPPED_AT) + text
        self._continued -= 1
        return True

    def header(self) -> Header:
        """The header collected so far."""
        entries = self.entries
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

    def unreadable_times(self) -> list[str]:
        """Warnings of dates in no known form, such as month names of another language."""
        return [
            f"{key}: {self.entries[key]!r} is no date in English: the time of the sample is unknown"
            for key in _TIME_KEYS
            if self.entries.get(key) and self._time(key) is None
        ]

    def _time(self, *keys: str) -> datetime | None:
        """The first of these times that is present; a time without a date is on the run date."""
        text = next((self.entries[key] for key in keys if self.entries.get(key)), "")
        for candidate in (text, f"{self.entries.get('Run Date', '')} {text}") if text else ():
            for form in _TIMES:
                try:
                    return datetime.strptime(" ".join(candidate.split()), form)
                except ValueError:
                    continue
        return None


def is_header_line(text: str) -> bool:
    """A line that only a report's header has: its title may have been cut off."""
    return bool(_ENTRY.fullmatch(text.strip()))


def instance_of(line: Line) -> str:
    """The instance whose sections follow, where a cluster names one; '' elsewhere."""
    match = _INSTANCE.fullmatch(line.text.strip())
    return match["name"] if match else ""


def return_status(line: Line) -> int | None:
    """The procedure's return status, where this line gives it."""
    match = _RETURN_STATUS.fullmatch(line.text.strip())
    return int(match[1]) if match else None


def is_chatter(line: Line) -> bool:
    """A line of the client or of dbcc, not of the report."""
    return bool(_CHATTER.fullmatch(line.text.strip()))


def server_message(lines: Sequence[Line], at: int) -> tuple[ServerMessage, int] | None:
    """The error that starts at this line and the position after it; None where there is none."""
    position = at
    text = lines[at].text.strip()
    if _CT_LIBRARY.fullmatch(text) and at + 1 < len(lines):
        position, text = at + 1, lines[at + 1].text.strip()
    match = _MESSAGE.fullmatch(text) or (_CT_NUMBER.fullmatch(text) if text else None)
    if match is None:
        return None
    found = match.groupdict()
    rest = (found.get("rest") or "").strip(" ,")
    origins = [rest] if _SAME_LINE_ORIGIN.match(rest) else []
    texts = [] if origins or not rest else [rest]
    position += 1
    while position < len(lines) and len(texts) < _MAX_MESSAGE_LINES:
        line = lines[position]
        text = line.text.strip()
        if line.blank or text.startswith(("===", "---", "Msg ")):
            break
        if return_status(line) is not None or is_chatter(line) or (texts and line.text[:1] == " "):
            break
        if not texts and _ORIGIN.fullmatch(text):
            origins.append(text)
        else:
            texts.append(text.strip('"') if origins else text)
        position += 1
    procedure = next((name["name"] for origin in origins if (name := _PROCEDURE.search(origin))), "")
    level = int(found.get("level") or found.get("severity") or 0)
    return (
        ServerMessage(lines[at].number, int(found["number"]), level, " ".join(texts), procedure),
        position,
    )


def _interval(text: str) -> timedelta | None:
    match = _INTERVAL.search(text)
    if match is None:
        return None
    hours, minutes, seconds = map(int, match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
