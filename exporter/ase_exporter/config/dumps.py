"""How often databases are dumped, which the alerts on old dumps take into account."""

import contextlib
from dataclasses import dataclass
from typing import Annotated

from ase_exporter.config.fields import Strict, Validator
from ase_exporter.config.times import EXPECTED_DURATION, parse_duration


def _interval(value: object) -> float:
    if value == "never":
        return 0.0
    with contextlib.suppress(ValueError):
        if seconds := parse_duration(str(value)):
            return seconds
    raise ValueError(f"{EXPECTED_DURATION}, or never")


Interval = Annotated[float, Validator(_interval, before=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dumps(Strict):
    """Dumps of some databases; the first entry that matches a database and says something of it decides.

    databases: patterns of names; none for all of them. database, log: seconds between two dumps of a database and of
    its log; 0 for never, None if it is not said.
    """

    databases: tuple[str, ...] = ()
    database: Interval | None = None
    log: Interval | None = None
