"""What all configuration models have in common, in every room."""

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


def _seconds(value: object) -> object:
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if not match:
            raise ValueError("expected a duration such as 500ms, 10s, 5m or 1h")
        return float(match[1]) * _UNITS[match[2]]
    return value


Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]


def _share(value: object) -> object:
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value.strip())
        if not match:
            raise ValueError("expected a percentage such as 1% or a ratio such as 0.01")
        return float(match[1]) / 100
    return value


# A ratio, or a percentage.
Share = Annotated[float, BeforeValidator(_share), Field(gt=0, le=1)]


class Model(BaseModel):
    """Base of all configuration models: no unknown keys, values fixed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
