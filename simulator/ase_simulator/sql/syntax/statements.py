"""Statements of a batch. Expressions are token lists until they are compiled for a session."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ase_simulator.results import Type
from ase_simulator.sql.syntax.lexer import Token

Tokens = Sequence[Token]


@dataclass(slots=True)
class Statement:
    """Any statement; line: where it starts in its batch."""

    line: int


@dataclass(slots=True)
class NotSimulated(Statement):
    """What ASE runs and the simulator does not; what: as message 20999 calls it."""

    what: str


@dataclass(slots=True)
class Query(Statement):
    """SELECT in all its forms: rows, `select @v = …`, `select … into`.

    compiled: as it was last run, for the next run of the same batch. tree: as its syntax was checked, until it is
    compiled.
    """

    tokens: Tokens
    tree: Any = field(default=None, repr=False, compare=False)
    compiled: Any = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Insert(Statement):
    """INSERT … VALUES or SELECT. columns: None if not listed."""

    table: Tokens
    columns: Sequence[str] | None
    query: Tokens


@dataclass(slots=True)
class Update(Statement):
    """UPDATE table SET column = expression, … [FROM …] [WHERE …]."""

    table: Tokens
    assignments: Sequence[tuple[str, Tokens]]
    tail: Tokens


@dataclass(slots=True)
class Delete(Statement):
    """DELETE table [FROM …] [WHERE …]."""

    table: Tokens
    tail: Tokens


@dataclass(slots=True)
class ColumnSpec:
    """One column of CREATE TABLE."""

    name: str
    type: Type
    nullable: bool


@dataclass(slots=True)
class CreateTable(Statement):
    """CREATE TABLE (temporary or not)."""

    table: Tokens
    columns: Sequence[ColumnSpec]


@dataclass(slots=True)
class Truncate(Statement):
    """TRUNCATE TABLE."""

    table: Tokens


@dataclass(slots=True)
class DropTable(Statement):
    """DROP TABLE name, …"""

    tables: Sequence[Tokens]


@dataclass(slots=True)
class VariableSpec:
    """One variable of DECLARE, or one parameter of a procedure."""

    name: str
    type: Type
    default: Tokens | None = None


@dataclass(slots=True)
class Procedure:
    """One of the server's own procedures that are T-SQL."""

    name: str
    parameters: Sequence[VariableSpec]
    body: Sequence[Statement]


@dataclass(slots=True)
class Declare(Statement):
    """DECLARE @v type, …"""

    variables: Sequence[VariableSpec]


@dataclass(slots=True)
class SetVariables(Statement):
    """SET @v = expression, …"""

    assignments: Sequence[tuple[str, Tokens]]


@dataclass(slots=True)
class If(Statement):
    """IF condition statement [ELSE statement]. condition: a query of one value, 1 or 0."""

    condition: Query
    then: Statement
    otherwise: Statement | None


@dataclass(slots=True)
class While(Statement):
    """WHILE condition statement."""

    condition: Query
    body: Statement


@dataclass(slots=True)
class Block(Statement):
    """BEGIN … END."""

    body: Sequence[Statement]


@dataclass(slots=True)
class Leave(Statement):
    """BREAK, or CONTINUE with again."""

    again: bool


@dataclass(slots=True)
class Return(Statement):
    """RETURN [expression]."""

    value: Tokens


@dataclass(slots=True)
class Print(Statement):
    """PRINT text, argument, …"""

    arguments: Sequence[Tokens]


@dataclass(slots=True)
class Raiserror(Statement):
    """RAISERROR number [text], argument, …; listed: without a text, so that sysmessages has it."""

    number: Tokens
    arguments: Sequence[Tokens]
    listed: bool = False


@dataclass(slots=True)
class WaitFor(Statement):
    """WAITFOR DELAY text."""

    value: Tokens


@dataclass(slots=True)
class Argument:
    """One argument of EXEC. name: '' by position."""

    name: str
    value: Tokens


@dataclass(slots=True)
class Execute(Statement):
    """[EXEC] [@status =] procedure argument, …"""

    name: Tokens
    arguments: Sequence[Argument] = field(default_factory=list)
    status: str = ""


@dataclass(slots=True)
class Command(Statement):
    """A statement known by its first words: USE, SET, BEGIN TRANSACTION, DBCC, GRANT, CREATE LOGIN …"""

    words: Tokens
