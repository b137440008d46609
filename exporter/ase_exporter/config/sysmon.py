"""Settings of scheduled sp_sysmon runs."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.config.fields import Seconds, Strict


@dataclass(frozen=True, kw_only=True, slots=True)
class SysmonSettings(Strict):
    """Scheduled sp_sysmon runs; without these settings sp_sysmon is not run.

    auth: the login that runs it, which needs sa_role. interval: seconds from the start of one sample to the start of
    the next. duration: whole seconds of one sample.
    """

    auth: str
    interval: Annotated[Seconds, Ge(60), Le(86400)] = 600.0
    duration: Annotated[Seconds, Ge(1), Le(3600)] = 60.0

    def __post_init__(self) -> None:
        if self.duration != int(self.duration):
            raise ValueError("duration: expected whole seconds")
        if self.duration > self.interval / 2:
            raise ValueError("duration: expected at most half of interval, so that samples do not overlap")
