"""Values that JSON has: numbers in base units, times in UTC, null for what is not known."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ase_exporter.views.view import Foreign


def as_json(
    value: Any,
    text: Callable[[str, Foreign], str] = lambda key, foreign: foreign,
    number: Callable[[float], float] = float,
) -> Any:
    """A value as JSON has it.

    text: what becomes of text of others, by the name of the field that it is in. number: of numbers with a fraction.
    """

    def plain(each: Any, key: str) -> Any:
        match each:
            case Foreign():
                return text(key, each)
            case float():
                return number(each) if math.isfinite(each) else None
            case Mapping():
                return {name: plain(inner, name) for name, inner in each.items()}
            case str() | int() | None:
                return each
            case Sequence():
                return [plain(inner, key) for inner in each]
        return {field.name: plain(getattr(each, field.name), field.name) for field in fields(each)}

    return plain(value, "")
