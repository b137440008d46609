"""How sp_sysmon is to be run on a target, in the configuration."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.checks import Seconds, Strict
from ase_exporter.sysmon.headlines import SECTION_KEYWORDS


@dataclass(frozen=True, kw_only=True, slots=True)
class SysmonSettings(Strict):
    """Off unless the target has it.

    auth: the login with sa_role that runs it, defined under auth; every: from the start of one sample to the
    start of the next; sample: how long each lasts, in whole seconds; cells: sections of which every figure is
    exported, by their keywords, or all.
    """

    auth: str
    every: Annotated[Seconds, Ge(60), Le(86400)] = 600.0
    sample: Annotated[Seconds, Ge(1), Le(3600)] = 60.0
    cells: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if self.sample != int(self.sample):
            raise ValueError("sample: expected whole seconds")
        if self.sample > self.every / 2:
            raise ValueError("sample: expected at most half of every, so that samples cannot meet")
        for section in self.cells:
            if section != "all" and section not in SECTION_KEYWORDS:
                raise ValueError(f"cells: {section!r}: expected all or of {', '.join(SECTION_KEYWORDS)}")
