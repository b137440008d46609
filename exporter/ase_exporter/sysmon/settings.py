"""How sp_sysmon is to be run on a target, in the configuration."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from ase_exporter.settings import Model, Seconds
from ase_exporter.sysmon.headlines import SECTION_KEYWORDS


class SysmonSettings(Model):
    """Off unless the target has it.

    auth: the login with sa_role that runs it, defined under auth; every: from the start of one sample to the
    start of the next; sample: how long each lasts, in whole seconds; cells: sections of which every figure is
    exported, by their keywords, or all.
    """

    auth: str
    every: Annotated[Seconds, Field(ge=60, le=86400)] = 600.0
    sample: Annotated[Seconds, Field(ge=1, le=3600)] = 60.0
    cells: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.sample != int(self.sample):
            raise ValueError("sample: expected whole seconds")
        if self.sample > self.every / 2:
            raise ValueError("sample: expected at most half of every, so that samples cannot meet")
        for section in self.cells:
            if section != "all" and section not in SECTION_KEYWORDS:
                raise ValueError(f"cells: {section!r}: expected all or of {', '.join(SECTION_KEYWORDS)}")
        return self
