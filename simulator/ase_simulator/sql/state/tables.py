"""Tables that clients create: temporary ones of a session, and permanent ones that all sessions share."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ase_simulator.results import Type
from ase_simulator.schema.catalog import ColumnDefinition, TableDefinition

_FIRST_NUMBER = 800_000_000


@dataclass(slots=True)
class ClientTable:
    """A table whose rows are in the embedded engine, under the name `handle`.

    number: its object id. next_row: number of the next row, never given twice. temporary: it belongs to one session;
    level: the nesting of the procedure that created it; hidden: the caller's table of the same name. changed: rows
    inserted, updated and deleted; reads: rows read.
    """

    table: TableDefinition
    handle: str
    number: int
    temporary: bool = False
    level: int = 0
    hidden: "ClientTable | None" = None
    next_row: int = 1
    changed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("insert", "update", "delete"), 0))
    reads: int = 0

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def columns(self) -> list[tuple[str, Type]]:
        return [(column.name, column.type) for column in self.table.columns]

    @property
    def not_null(self) -> frozenset[str]:
        return frozenset(column.name for column in self.table.columns if not column.nullable)


def definition(
    database: str, name: str, columns: Sequence[tuple[str, Type]], not_null: frozenset[str]
) -> TableDefinition:
    definitions = [
        ColumnDefinition(column, type_, nullable=column not in not_null) for column, type_ in columns
    ]
    return TableDefinition(name, database, definitions)


class ClientTables:
    """All permanent tables that clients made in a server's databases."""

    def __init__(self) -> None:
        self.by_name: dict[tuple[str, str], ClientTable] = {}
        self._next = _FIRST_NUMBER

    def find(self, database: str, name: str) -> ClientTable | None:
        return self.by_name.get((database, name))

    def in_database(self, database: str) -> list[ClientTable]:
        return [table for (place, _), table in self.by_name.items() if place == database]

    def new_number(self) -> int:
        """An object id that no table had."""
        self._next += 32
        return self._next
