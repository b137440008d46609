"""Field types and checks of settings, declared without importing pydantic.

Settings and catalogue entries are plain dataclasses. Whoever reads a file validates it with pydantic by their
annotations (see `yaml_files`); commands that read none never import it.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le

from ase_exporter.config.times import EXPECTED_DURATION, EXPECTED_MOMENT, parse_duration, parse_moment

_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


class Strict:
    """Base of settings dataclasses: pydantic rejects unknown keys."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Validator:
    """Annotation that adds a check to a type: a function that returns the value to use, or raises ValueError.

    before: the function gets the raw value from the file, before pydantic converts it to the type.
    """

    function: Callable[[Any], object]
    before: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """The hook by which pydantic applies the check."""
        from pydantic import AfterValidator, BeforeValidator

        validator = BeforeValidator if self.before else AfterValidator
        return validator(self.function).__get_pydantic_core_schema__(source, handler)


def matching(pattern: str, expected: str) -> Callable[[str], str]:
    """A function for `Validator` that requires the whole text to match a pattern; expected: what the error says."""
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"expected {expected}")
        return text

    return check


def is_port(text: str) -> bool:
    """Whether a text is a number from 1 to 65535."""
    return text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 65535


def _time(parse: Callable[[str], float], expected: str) -> Validator:
    """Reads text by `parse`; other values have to be finite numbers."""

    def read(value: object) -> object:
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(expected)
        return parse(value) if isinstance(value, str) else value

    return Validator(read, before=True)


# A duration: seconds, or text such as 10s.
Seconds = Annotated[float, _time(parse_duration, EXPECTED_DURATION), Ge(0)]

# A moment: Unix seconds, or text as `times.parse_moment` takes it.
Moment = Annotated[float, _time(lambda text: parse_moment(text, time.time()), EXPECTED_MOMENT)]


def _share(value: object) -> object:
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value.strip())
        if not match:
            raise ValueError("expected a percentage such as 1% or a ratio such as 0.01")
        return float(match[1]) / 100
    return value


# A ratio, or a percentage as text.
Share = Annotated[float, Validator(_share, before=True), Gt(0), Le(1)]
