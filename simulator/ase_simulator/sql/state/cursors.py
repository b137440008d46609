"""Cursors that T-SQL declares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ase_simulator.results import Column
from ase_simulator.sql.syntax.lexer import Token
from ase_simulator.sql.types.values import EngineValue


@dataclass(slots=True)
class DeclaredCursor:
    """One cursor; rows: what is left to fetch, None while it is closed."""

    query: Sequence[Token]
    columns: Sequence[Column] = ()
    rows: Iterator[tuple[EngineValue, ...]] | None = None
