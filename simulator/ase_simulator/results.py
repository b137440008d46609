"""Results of a batch, as `sql` yields them and `tds` encodes them.

`sql` yields them in order while a batch or procedure runs; `tds` encodes each at once. Neither
imports the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

TypeName = Literal[
    "bit", "tinyint", "smallint", "int", "bigint", "unsigned tinyint", "unsigned smallint", "unsigned int",
    "unsigned bigint", "real", "float", "numeric", "decimal", "money", "smallmoney", "datetime",
    "smalldatetime", "date", "time", "bigdatetime", "bigtime", "char", "varchar", "nchar", "nvarchar",
    "unichar", "univarchar", "binary", "varbinary", "text", "unitext", "image",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """An ASE type. length: characters or bytes of strings and binaries; precision, scale: of numeric."""

    name: TypeName
    length: int = 0
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result set; an expression without an alias has the name ''."""

    name: str
    type: Type
    nullable: bool = True


@dataclass(slots=True)
class Rows:
    """One result set. Values: None, bool, int, float, Decimal, str, bytes, datetime, date or time.

    counted: the client hears how many there were.
    """

    columns: Sequence[Column]
    rows: Iterable[Sequence[object]]
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Affected:
    """'(n rows affected)' of a statement that returns no rows."""

    count: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a statement that neither returns nor counts rows, such as CREATE TABLE."""


@dataclass(frozen=True, slots=True)
class Message:
    """PRINT and information up to severity 10, errors above; line counts from 1 within batch or procedure."""

    number: int
    severity: int
    state: int
    text: str
    procedure: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class EnvChange:
    """The session's database, language or charset changed (`use`, `set language`)."""

    kind: Literal["database", "language", "charset"]
    new: str
    old: str


@dataclass(frozen=True, slots=True)
class ReturnStatus:
    """The return status of a procedure."""

    value: int


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The server drops the connection here (fatal errors, `shutdown`, scripted faults)."""


Result = Rows | Affected | Ended | Message | EnvChange | ReturnStatus | Disconnect
