"""Views as values that JSON has: numbers in base units, times in UTC, null for what is not known."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ase_exporter.views.view import (
    Cell,
    Data,
    Foreign,
    Items,
    Line,
    Part,
    Section,
    Table,
    Verdict,
    View,
)


def content(parts: Iterable[Part]) -> dict[str, Any]:
    """What parts with a key hold, by key."""
    found: dict[str, Any] = {}
    for part in parts:
        match part:
            case Section():
                found |= content(part.parts)
            case Data():
                found |= part.content
            case Table() if part.key:
                found[part.key] = _rows(part)
            case Items() if part.key:
                found[part.key] = part.items
            case Line() | Verdict() if part.key:
                found[part.key] = part.text
    return found


def _rows(table: Table) -> list[dict[str, Any]]:
    keys = [column.key for column in table.columns]
    return [
        {
            key: cell.value if isinstance(cell, Cell) else cell
            for key, cell in zip(keys, row, strict=True)
            if key
        }
        for row in table.rows
    ]


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
            case View():
                return plain(content(each.parts), key)
            case Mapping():
                return {name: plain(inner, name) for name, inner in each.items()}
            case str() | int() | None:
                return each
            case Sequence():
                return [plain(inner, key) for inner in each]
        return {field.name: plain(getattr(each, field.name), field.name) for field in fields(each)}

    return plain(value, "")
