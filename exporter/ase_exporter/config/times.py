"""Times and durations as people write them: the one grammar of settings, command-line options and URLs.

A duration is a number of seconds, or numbers with units, the largest first: 500ms, 10s, 1.5h, 1h30m, 2w.
A moment is one of
- `now`, or a duration before now: `now-2h`, or `2h` for short,
- `today` or `yesterday`, with or without a time: yesterday 14:05,
- a time alone, when the clock showed it last: 14:05; as the end of a period, the first one after the start if that is
  later,
- a date, with or without a time: 2026-05-04, 2026-05-04T10:30, 2026-05-04 10:30:00,
- the same with `Z` or an offset: 2026-05-04T10:30Z, 2026-05-04T10:30+02:00,
- Unix seconds.
Without an offset a date and time is the local time of this machine.
"""

import math
import re
from datetime import datetime, timedelta

from ase_exporter.errors import UserError

_UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_PLAIN = re.compile(_NUMBER, re.ASCII)
_DURATION = re.compile("".join(rf"(?:({_NUMBER}){unit})?" for unit in _UNITS), re.ASCII)
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
_DAY = re.compile(r"(?:(today|yesterday)(?:[T ]|$))?(\d\d?:\d\d(?::\d\d)?)?", re.ASCII)
# Nine digits at least, so that a year or a date without dashes is not taken for seconds; fewer than a time in ms.
_UNIX = re.compile(r"\d{9,11}(?:\.\d+)?", re.ASCII)

EXPECTED_DURATION = "expected a duration such as 500ms, 10s, 5m or 1h30m"
EXPECTED_MOMENT = (
    "expected a time such as 2h (ago), 14:05, yesterday, 2026-05-04, 2026-05-04T10:30Z or Unix seconds"
)


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError with one line that says what was expected."""
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return float(text)
    match = _DURATION.fullmatch(text)
    if not text or not match:
        raise ValueError(EXPECTED_DURATION)
    parts = zip(match.groups(), _UNITS.values(), strict=True)
    return math.fsum(float(number) * unit for number, unit in parts if number)


def parse_moment(text: str, now: float, since: float | None = None) -> float:
    """Unix time of a moment. Raises ValueError with one line that says what was expected.

    since: the start of the period whose end it is.
    A local time that the clock shows twice, or skips, when daylight saving time ends or begins is an error that
    asks for an offset. A date alone is the first moment of that local day.
    """
    text = text.strip()
    if text == "now":
        return now
    if _UNIX.fullmatch(text):
        return float(text)
    if match := _DATE.fullmatch(text):
        date, clock, offset = match.groups()
        return _from_calendar(date, clock, (offset or "").upper())
    if text and (match := _DAY.fullmatch(text)):
        last = _from_day(match[1], match[2], now)
        if match[1] or since is None or last > since:
            return last
        return _from_day(None, match[2], since + 86_400)
    ago = text.removeprefix("now-")
    if _PLAIN.fullmatch(ago):
        raise ValueError(EXPECTED_MOMENT)
    try:
        return now - parse_duration(ago)
    except ValueError:
        raise ValueError(EXPECTED_MOMENT) from None


def _from_day(day: str | None, clock: str | None, now: float) -> float:
    """A time of today or yesterday or, without a day, of whichever of both was last."""
    today = datetime.fromtimestamp(now)
    before = today - timedelta(days=1)
    if clock and len(clock.partition(":")[0]) == 1:
        clock = f"0{clock}"
    found = _from_calendar(f"{before if day == 'yesterday' else today:%Y-%m-%d}", clock, "")
    return _from_calendar(f"{before:%Y-%m-%d}", clock, "") if day is None and found > now else found


def _from_calendar(date: str, clock: str | None, offset: str) -> float:
    try:
        moment = datetime.fromisoformat(f"{date}T{clock or '00:00'}{offset}")
        if offset:
            return moment.timestamp()
        # PEP 495: the two folds differ where the clock shows this time twice or never.
        first, second = (moment.replace(fold=fold).timestamp() for fold in (0, 1))
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{EXPECTED_MOMENT} ({error})") from None
    if first == second or clock is None:
        return first
    offsets = " or ".join(
        moment.replace(fold=fold).astimezone().isoformat(timespec="minutes")[-6:] for fold in (0, 1)
    )
    if first < second:
        raise ValueError(f"this machine's clock shows this time twice; expected an offset with it, {offsets}")
    raise ValueError(f"this machine's clock skips this time; expected an offset with it, {offsets}")


def moment_option(option: str, text: str, now: float, since: float | None = None) -> float:
    """The time that an option or parameter gives, as `parse_moment` takes it. Raises UserError, which names it."""
    try:
        return parse_moment(text, now, since)
    except ValueError as error:
        raise UserError(f"{option}: {text!r}: {error}") from None
