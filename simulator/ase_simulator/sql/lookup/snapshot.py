"""Tables of the server as a statement sees them: read once, however many rows call a function that asks for them."""

from ase_simulator.contracts import Row
from ase_simulator.model.server import SimulatedServer


class Snapshot:
    """Rows of tables as they were when the current statement first asked for them."""

    def __init__(self, server: SimulatedServer) -> None:
        self._server = server
        self._rows: dict[tuple[str, str], dict[object, list[Row]]] = {}

    def refresh(self) -> None:
        self._rows = {}

    def rows(self, table: str, column: str, value: object) -> list[Row]:
        """The rows of a table that have the value in the column."""
        if (table, column) not in self._rows:
            found = self._rows[table, column] = {}
            for row in self._server.table(table):
                found.setdefault(row.get(column), []).append(row)
        return self._rows[table, column].get(value, [])
