"""What the query compiler needs from a session."""

from typing import Protocol

from ase_simulator.results import Type
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.syntax.statements import CreateProcedure


class SymbolTable(Protocol):
    """Tables and variables by name."""

    def table(self, database: str, name: str) -> TableDefinition | ClientTable:
        """A table by its database ('' for the current one) and name; raises SqlError 208."""
        ...

    def client_function(self, name: str) -> CreateProcedure | None:
        """The SQL function of that name (any case), which may be `database..name`."""
        ...

    def variable_type(self, name: str) -> Type:
        """The type of @v or @@v; raises SqlError 137."""
        ...

    def mark_type(self, number: int) -> Type | None:
        """The type of the value of a `?`; None if it is not known yet."""
        ...
