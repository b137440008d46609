"""Statements of a batch. Expressions are token lists until they are compiled for a session."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ase_simulator.results import Type
from ase_simulator.sql.syntax.lexer import Token

Tokens = Sequence[Token]


@dataclass(slots=True)
class Statement:
    """Any statement; line: where it starts in its batch."""

    line: int


@dataclass(slots=True)
class Query(Statement):
    """SELECT in all its forms: rows, `select @v = …`, `select … into`."""

    tokens: Tokens


@dataclass(slots=True)
class Insert(Statement):
    """INSERT … VALUES, SELECT or EXEC. columns: None if not listed."""

    table: Tokens
    columns: Sequence[str] | None
    values: Tokens | None = None
    query: Tokens | None = None
    execute: "Execute | None" = None


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
class Truncate(Statement):
    """TRUNCATE TABLE."""

    table: Tokens


@dataclass(slots=True)
class LockTable(Statement):
    """LOCK TABLE … IN SHARE or EXCLUSIVE MODE."""

    table: Tokens
    share: bool


@dataclass(slots=True)
class ColumnSpec:
    """One column of CREATE TABLE or ALTER TABLE ADD."""

    name: str
    type: Type
    nullable: bool
    identity: bool = False
    default: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A key or index on columns, a check of rows, or a foreign key.

    unique: no two rows have the same values in the columns. references: the table that the columns refer to, and
    referenced its columns, none for its primary key.
    """

    name: str
    columns: Sequence[str] = ()
    check: Tokens = ()
    unique: bool = True
    primary: bool = False
    clustered: bool = False
    references: str = ""
    referenced: Sequence[str] = ()


@dataclass(slots=True)
class CreateTable(Statement):
    """CREATE TABLE (temporary or not)."""

    table: Tokens
    columns: Sequence[ColumnSpec]
    constraints: Sequence[Constraint] = ()


@dataclass(slots=True)
class CreateIndex(Statement):
    """CREATE [UNIQUE] [CLUSTERED] INDEX."""

    table: Tokens
    index: Constraint


@dataclass(slots=True)
class AlterTable(Statement):
    """ALTER TABLE … ADD or MODIFY columns, ADD or DROP CONSTRAINT, DROP columns, REPLACE column DEFAULT.

    modified: columns with their type and whether they allow NULL, None to keep it; defaults: () to have none.
    """

    table: Tokens
    added: Sequence[ColumnSpec] = ()
    constraints: Sequence[Constraint] = ()
    modified: Sequence[tuple[str, Type | None, bool | None]] = ()
    defaults: Sequence[tuple[str, Tokens]] = ()
    dropped: Sequence[str] = ()
    dropped_constraints: Sequence[str] = ()


@dataclass(slots=True)
class CreateProcedure(Statement):
    """CREATE [OR REPLACE] PROCEDURE name parameters AS body, or FUNCTION; returns: the type of a function's value."""

    name: str
    parameters: Sequence["VariableSpec"]
    body: Sequence[Statement]
    text: str
    replace: bool = False
    returns: Type | None = None


@dataclass(slots=True)
class Drop(Statement):
    """DROP TABLE|PROCEDURE|VIEW|INDEX name, …"""

    kind: str
    names: Sequence[Tokens]


@dataclass(slots=True)
class VariableSpec:
    """One variable of DECLARE, or one parameter of a procedure."""

    name: str
    type: Type
    default: Tokens | None = None
    output: bool = False


@dataclass(slots=True)
class Declare(Statement):
    """DECLARE @v type, …"""

    variables: Sequence[VariableSpec]


@dataclass(slots=True)
class DeclareCursor(Statement):
    """DECLARE name CURSOR FOR select."""

    name: str
    query: Tokens


@dataclass(slots=True)
class CursorAction(Statement):
    """OPEN, FETCH [INTO @v, …], CLOSE, DEALLOCATE of a cursor."""

    action: str
    name: str
    targets: Sequence[str] = ()


@dataclass(slots=True)
class SetVariables(Statement):
    """SET @v = expression, …"""

    assignments: Sequence[tuple[str, Tokens]]


@dataclass(slots=True)
class SetOption(Statement):
    """SET option value."""

    words: Tokens


@dataclass(slots=True)
class Use(Statement):
    """USE database."""

    database: str


@dataclass(slots=True)
class If(Statement):
    """IF condition statement [ELSE statement]."""

    condition: Tokens
    then: Statement
    otherwise: Statement | None


@dataclass(slots=True)
class While(Statement):
    """WHILE condition statement."""

    condition: Tokens
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
class Label(Statement):
    """name: (where GOTO jumps to)."""

    name: str


@dataclass(slots=True)
class Goto(Statement):
    """GOTO name."""

    name: str


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
    """WAITFOR DELAY|TIME text."""

    kind: str
    value: Tokens


@dataclass(slots=True)
class Argument:
    """One argument of EXEC. name: '' by position."""

    name: str
    value: Tokens
    output: bool = False


@dataclass(slots=True)
class Execute(Statement):
    """[EXEC] [@status =] procedure argument, … ; text: EXEC(string) with the string's parts."""

    name: Tokens
    arguments: Sequence[Argument] = field(default_factory=list)
    status: str = ""
    text: Tokens | None = None


@dataclass(slots=True)
class Transaction(Statement):
    """BEGIN, COMMIT, ROLLBACK or SAVE TRANSACTION; name: of the transaction or savepoint, or ''."""

    action: str
    name: str = ""


@dataclass(slots=True)
class Dbcc(Statement):
    """DBCC command(argument, …)."""

    command: str
    arguments: Sequence[str]


@dataclass(slots=True)
class Command(Statement):
    """A statement known by its first words: GRANT, SHUTDOWN, KILL, DUMP, CREATE LOGIN …"""

    words: Tokens
