"""The variables of one batch or procedure, and the cursors that T-SQL declares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ase_simulator.results import Column, Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.syntax.lexer import Token
from ase_simulator.sql.types.values import EngineValue


@dataclass(slots=True)
class Frame:
    """Types and values of @variables. procedure: its name, '' for a batch; returns: the type of a function's value.

    system: it is one of the server's own procedures, which know the columns of every version.
    """

    types: dict[str, Type] = field(default_factory=dict)
    values: dict[str, EngineValue] = field(default_factory=dict)
    procedure: str = ""
    returns: Type | None = None
    system: bool = False

    def declare(self, name: str, type_: Type, value: EngineValue = None) -> None:
        """A new variable; raises SqlError 134."""
        if name in self.types:
            raise SqlError(134, name)
        self.types[name] = type_
        self.values[name] = value


@dataclass(slots=True)
class DeclaredCursor:
    """One cursor; rows: what is left to fetch, None while it is closed."""

    query: Sequence[Token]
    columns: Sequence[Column] = ()
    rows: Iterator[tuple[EngineValue, ...]] | None = None
