"""Tables that clients create: temporary ones of a session, and permanent ones that all sessions share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ase_simulator.contracts import Row
from ase_simulator.results import Type
from ase_simulator.schema.catalog import ColumnDefinition, TableDefinition
from ase_simulator.sql.syntax.lexer import Token
from ase_simulator.sql.syntax.statements import Constraint
from ase_simulator.sql.types.values import EngineValue

_FIRST_NUMBER = 800_000_000


@dataclass(frozen=True, slots=True)
class TemporaryTable:
    """A table of one session. handle: its name in the embedded engine; identity: its identity column, or ''.

    level: the nesting of the procedure that created it; hidden: the caller's table of the same name.
    """

    handle: str
    columns: Sequence[tuple[str, Type]]
    identity: str = ""
    defaults: Mapping[str, Sequence[Token]] = field(default_factory=dict)
    not_null: frozenset[str] = frozenset()
    constraints: list[Constraint] = field(default_factory=list)
    level: int = 0
    hidden: "TemporaryTable | None" = None


@dataclass(slots=True)
class PermanentTable:
    """A table in a database. rows: values as in the engine; identity: the identity column, or ''."""

    table: TableDefinition
    number: int
    identity: str = ""
    defaults: Mapping[str, Sequence[Token]] = field(default_factory=dict)
    rows: list[tuple[EngineValue, ...]] = field(default_factory=list)
    not_null: frozenset[str] = frozenset()
    constraints: list[Constraint] = field(default_factory=list)

    def as_rows(self) -> Iterator[Row]:
        """The rows by column name."""
        names = [column.name for column in self.table.columns]
        for row in self.rows:
            yield dict(zip(names, row, strict=True))


class PermanentTables:
    """All tables that clients made in a server's databases."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], PermanentTable] = {}
        self._next = _FIRST_NUMBER

    def find(self, database: str, name: str) -> PermanentTable | None:
        """The table of that name in a database."""
        return self._tables.get((database, name))

    def in_database(self, database: str) -> list[PermanentTable]:
        """All tables of a database."""
        return [table for (place, _), table in self._tables.items() if place == database]

    def create(
        self,
        database: str,
        name: str,
        columns: Sequence[tuple[str, Type]],
        identity: str,
        defaults: Mapping[str, Sequence[Token]],
        not_null: frozenset[str],
        constraints: Sequence[Constraint],
    ) -> None:
        """A new, empty table."""
        definitions = [
            ColumnDefinition(column, type_, nullable=column not in {*not_null, identity})
            for column, type_ in columns
        ]
        table = TableDefinition(
            name, database, definitions, by_name={column.name: column for column in definitions}
        )
        self._next += 32
        self._tables[database, name] = PermanentTable(
            table, self._next, identity, defaults, not_null=not_null, constraints=list(constraints)
        )

    def drop(self, database: str, name: str) -> None:
        """Drops a table."""
        del self._tables[database, name]

    def drop_all(self, database: str) -> None:
        """Drops a database's tables."""
        self._tables = {key: table for key, table in self._tables.items() if key[0] != database}

    def name_of(self, number: int) -> str | None:
        """The name of an object id."""
        return next((held.table.name for held in self._tables.values() if held.number == number), None)
