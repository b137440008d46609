"""Keeps once what the targets of a process have in common: names of tables, caches and engines, statements, help."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar, cast

T = TypeVar("T", bound=Hashable)


def shared(value: T) -> T:
    """An equal value: the object that was seen first, if it is still known.

    Immutable values only, of a kind whose equal values mean the same (1 equals True).
    """
    return cast(T, _first(value))


@lru_cache(maxsize=16_384)
def _first(value: Hashable) -> Hashable:
    return value
