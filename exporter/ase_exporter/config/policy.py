"""What is expected of a server and its databases, which alerts take into account: dumps, exemptions, criticality."""

import contextlib
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from ase_exporter import assets
from ase_exporter.config.fields import Strict, Validator
from ase_exporter.config.times import EXPECTED_DURATION, parse_duration, parse_moment

# The exporter cannot say that these are exempt while they fire: it is away, or they are what mutes others.
NEVER_EXEMPT = ("AseExporterDown", "AseJobDown", "AseMaintenance", "AseTargetVanished")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(r"((?:[a-z]{3} )*)(\d\d):(\d\d)-(\d\d):(\d\d)(?: ([\w/+-]+))?", re.ASCII)
_EXPECTED_WINDOW = "expected [DAYS] HH:MM-HH:MM [TIME ZONE], such as sat sun 22:00-04:00 Europe/Berlin"


def _alert(name: str) -> str:
    known = re.fullmatch(r"Ase\w+", name) and (assets.directory("runbooks") / f"{name}.md").exists()
    if not known or name in NEVER_EXEMPT:
        raise ValueError(
            f"expected an alert about a server, such as AseSpaceLow; not {', '.join(NEVER_EXEMPT)}"
        )
    return name


def _interval(value: object) -> float:
    if value == "never":
        return 0.0
    with contextlib.suppress(ValueError):
        if seconds := parse_duration(str(value)):
            return seconds
    raise ValueError(f"{EXPECTED_DURATION}, or never")


def _end(value: object) -> object:
    # YAML reads a plain date as a date. A time that has passed by now is no end.
    text = value.isoformat() if isinstance(value, date) else str(value)
    if not re.match(r"\d{4}-", text):
        raise ValueError("expected a date such as 2027-01-31 or 2027-01-31T10:30Z")
    return parse_moment(text, 0)


@dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """A daily or weekly time by the clock of a time zone. start, end: minutes of the day; days: those it begins on."""

    days: frozenset[int]
    start: int
    end: int
    zone: str

    @classmethod
    def parse(cls, value: object) -> Self:
        """Raises ValueError with one line that says what was expected."""
        match = _WINDOW.fullmatch(value.strip()) if isinstance(value, str) else None
        days = match[1].split() if match else []
        if not match or not set(days) <= set(_DAYS):
            raise ValueError(_EXPECTED_WINDOW)
        hours, minutes, end_hours, end_minutes = map(int, match.groups()[1:5])
        start, end, zone = hours * 60 + minutes, end_hours * 60 + end_minutes, match[6] or "UTC"
        if max(minutes, end_minutes) > 59 or start >= 1440 or end > 1440 or start == end:
            raise ValueError(_EXPECTED_WINDOW)
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, LookupError):
            raise ValueError(f"{_EXPECTED_WINDOW}; this machine knows no such time zone") from None
        return cls(frozenset(map(_DAYS.index, days or _DAYS)), start, end, zone)

    def contains(self, at: float) -> bool:
        """Whether a Unix time is in it. A window over midnight belongs to the day on which it begins."""
        local = datetime.fromtimestamp(at, ZoneInfo(self.zone))
        minute, day = local.hour * 60 + local.minute, local.weekday()
        if self.start < self.end:
            return day in self.days and self.start <= minute < self.end
        return (day in self.days and minute >= self.start) or (
            (day - 1) % 7 in self.days and minute < self.end
        )


Interval = Annotated[float, Validator(_interval, before=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dumps(Strict):
    """Seconds between two dumps of a database and of its log; 0 for never, None if it is not said."""

    database: Interval | None = None
    log: Interval | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy(Strict):
    """One entry of a policy; the first entry that matches a database and says something of it decides.

    databases: patterns of names; none for the server and all its databases. exempt: alerts that do not fire, and why,
    in `reason`. until: Unix time at which the entry ends. windows: if any, `exempt` only holds in them, and never for
    critical alerts. criticality: where it is low, critical alerts are warnings.
    """

    databases: tuple[str, ...] = ()
    dumps: Dumps = field(default_factory=Dumps)
    exempt: tuple[Annotated[str, Validator(_alert)], ...] = ()
    reason: str = ""
    until: Annotated[float, Validator(_end, before=True)] | None = None
    windows: tuple[Annotated[WeeklyWindow, Validator(WeeklyWindow.parse, before=True)], ...] = ()
    criticality: Literal["normal", "low"] | None = None

    def __post_init__(self) -> None:
        if self.exempt and not self.reason.strip():
            raise ValueError("exempt: expected why as well, in `reason`")
        if self.windows and not self.exempt:
            raise ValueError("windows: expected the alerts that they mute, in `exempt`")

    def is_about(self, database: str) -> bool:
        """Whether it holds for a database; '' is the server itself."""
        return not self.databases or any(fnmatchcase(database, each) for each in self.databases if database)

    def exempts(self, at: float) -> bool:
        """Whether its alerts are exempt at a Unix time."""
        return not self.windows or any(each.contains(at) for each in self.windows)
