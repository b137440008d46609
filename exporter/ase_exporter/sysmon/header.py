"""The header of a report: server, version, times, interval and sample mode."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import Header

_KEYS = (
    "Server Version",
    "Server Name",
    "Run Date",
    "Sampling Started at",
    "Sampling Ended at",
    "Statistics Cleared at",
    "Statistics Sampled at",
    "Sample Interval",
    "Sample Mode",
    "Counters Last Cleared",
)
_TIME_KEYS = (
    "Run Date",
    "Sampling Started at",
    "Sampling Ended at",
    "Statistics Cleared at",
    "Statistics Sampled at",
    "Counters Last Cleared",
)
_INSTANCE_KEYS = ("Instance Name", "Instance ID", "Instance Id", "Instance")
_ENTRY = re.compile(
    rf"(?P<key>{'|'.join(_KEYS)})(?:\s*:\s*|\s{{2,}})(?P<value>.*)"
    r"|(?P<other>[A-Z][\w/ ]{1,40}?)\s*:\s*(?P<text>.*)"
)
_CONTINUATION_INDENT = 23
_WRAPPED_AT = 56
_INTERVAL = re.compile(r"(\d{2,4}):?(\d{2}):?(\d{2})")
_TIMES = ("%b %d, %Y %H:%M:%S", "%b %d, %Y %H%M%S", "%b %d %Y %H:%M:%S", "%b %d, %Y", "%b %d %Y")


class HeaderReader:
    """Collects header lines."""

    def __init__(self, altered: bool = False) -> None:
        """altered: continuation lines of the version have lost their margin."""
        self._altered = altered
        self.entries: dict[str, str] = {}
        self._last = ""

    def take(self, line: Line) -> bool:
        """Whether this line belongs to the header; if so, it is kept."""
        if self._altered and self._last == "Server Version" and not line.blank and not is_header_line(line):
            line = line.moved(_CONTINUATION_INDENT)
        if line.indent >= _CONTINUATION_INDENT and self._last:
            value = self.entries[self._last]
            self.entries[self._last] = (
                value.ljust(-(-len(value) // _WRAPPED_AT) * _WRAPPED_AT) + line.text.strip()
            )
            return True
        entry = _entry(line)
        if entry is None:
            self._last = ""
            return False
        self._last = entry[0]
        self.entries.setdefault(*entry)
        return True

    def header(self) -> Header:
        """The header collected so far."""
        entries = self.entries
        run_date = entries.get("Run Date", "")
        return Header(
            server=entries.get("Server Name", ""),
            version=entries.get("Server Version", ""),
            started=_time(entries, run_date, "Sampling Started at", "Statistics Cleared at"),
            ended=_time(entries, run_date, "Sampling Ended at", "Statistics Sampled at"),
            interval=_interval(entries.get("Sample Interval", "")),
            mode=entries.get("Sample Mode", ""),
            cleared=_time(entries, run_date, "Counters Last Cleared", "Statistics Cleared at"),
            other={key: value for key, value in entries.items() if key not in _KEYS},
        )


def unreadable_times(entries: Mapping[str, str]) -> list[str]:
    """Warnings of dates in no known form, such as month names of another language."""
    run_date = entries.get("Run Date", "")
    return [
        f"{key}: {entries[key]!r} is no date in English: the time of the sample is unknown"
        for key in _TIME_KEYS
        if entries.get(key) and _time(entries, run_date, key) is None
    ]


def is_header_line(line: Line) -> bool:
    """A line that only a report's header has: its title may have been cut off."""
    entry = _entry(line)
    return entry is not None and entry[0] in _KEYS


def instance_of(line: Line) -> str | None:
    """The instance whose sections follow, where a cluster names one between two rules."""
    entry = _entry(line)
    return entry[1] or None if entry and entry[0] in _INSTANCE_KEYS else None


def _entry(line: Line) -> tuple[str, str] | None:
    """Key and value of a header line; some tools drop its colon."""
    match = None if line.indent else _ENTRY.fullmatch(line.text)
    if match is None:
        return None
    return (match["key"] or match["other"]).strip(), (match["value"] or match["text"] or "").strip()


def _time(entries: Mapping[str, str], run_date: str, *keys: str) -> datetime | None:
    """The first of these times that is present; a time without a date is on the run date."""
    text = next((entries[key] for key in keys if entries.get(key)), "")
    for candidate in (text, f"{run_date} {text}") if text else ():
        for form in _TIMES:
            try:
                return datetime.strptime(" ".join(candidate.split()), form)
            except ValueError:
                continue
    return None


def _interval(text: str) -> timedelta | None:
    match = _INTERVAL.search(text)
    if match is None:
        return None
    hours, minutes, seconds = map(int, match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
