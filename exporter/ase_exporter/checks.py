"""What files may hold, said without pydantic, which would be a third of what a worker takes.

What workers use of the configuration and of the catalogue are plain dataclasses. Whoever reads a file has
pydantic go by their annotations (see `yamlfile`); a worker gets what was read, and checks nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


class Strict:
    """Base of such dataclasses: no unknown keys."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Check:
    """Says of a type what else holds: a function that returns the value to take, or raises ValueError.

    before: it gets what stands in the file, which may be of another type.
    """

    function: Callable[[Any], object]
    before: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """How pydantic is told."""
        from pydantic import AfterValidator, BeforeValidator

        validator = BeforeValidator if self.before else AfterValidator
        return validator(self.function).__get_pydantic_core_schema__(source, handler)


def matching(pattern: str) -> Callable[[str], str]:
    """A function for `Check`: the whole text has to match a pattern, which is shown."""
    compiled = re.compile(pattern.removeprefix("^").removesuffix("$"))

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"String should match pattern '{pattern}'")
        return text

    return check


def _seconds(value: object) -> object:
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if not match:
            raise ValueError("expected a duration such as 500ms, 10s, 5m or 1h")
        return float(match[1]) * _UNITS[match[2]]
    return value


Seconds = Annotated[float, Check(_seconds, before=True), Ge(0)]


def _share(value: object) -> object:
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value.strip())
        if not match:
            raise ValueError("expected a percentage such as 1% or a ratio such as 0.01")
        return float(match[1]) / 100
    return value


# A ratio, or a percentage.
Share = Annotated[float, Check(_share, before=True), Gt(0), Le(1)]
