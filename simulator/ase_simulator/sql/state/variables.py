"""The options of a session, and the variables of one batch or procedure."""

from dataclasses import dataclass, field

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.types.values import EngineValue


@dataclass(slots=True)
class Frame:
    """Types and values of @variables.

    procedure: its name, '' for a batch; system: it is one of the server's own, which know the columns of every version.
    """

    types: dict[str, Type] = field(default_factory=dict)
    values: dict[str, EngineValue] = field(default_factory=dict)
    procedure: str = ""
    system: bool = False

    def declare(self, name: str, type_: Type, value: EngineValue = None) -> None:
        """A new variable; raises SqlError 134."""
        if name in self.types:
            raise SqlError(134, name)
        self.types[name] = type_
        self.values[name] = value


@dataclass(slots=True)
class Settings:
    """The options of one session."""

    rowcount: int = 0
    nocount: bool = False
    quoted_identifier: bool = False
    textsize: int = 32768
    language: str = "us_english"
    isolation: int = 1
    chained: bool = False
    system_view: str = "instance"
