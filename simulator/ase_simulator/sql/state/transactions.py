"""Transactions and savepoints of one session."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ase_simulator.results import TransactionState
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.state.engine import EmbeddedEngine
from ase_simulator.sql.state.tables import PermanentTable, TemporaryTable
from ase_simulator.sql.types.values import EngineValue

Rows = list[tuple[EngineValue, ...]]


@dataclass(slots=True)
class _Savepoint:
    """The state to which a rollback returns. rows: permanent tables changed since, with their rows before."""

    name: str
    temporary: dict[str, TemporaryTable]
    rows: list[tuple[PermanentTable, Rows]] = field(default_factory=list)


class Transactions:
    """BEGIN, SAVE, COMMIT and ROLLBACK on temporary and permanent client tables.

    There are no locks: other sessions see uncommitted rows of permanent tables, and a rollback discards what
    they changed in the same tables meanwhile. Created and dropped permanent tables stay so.
    """

    def __init__(self, engine: EmbeddedEngine, temporary: dict[str, TemporaryTable]) -> None:
        self.depth = 0
        self.state = TransactionState.NONE
        self._engine = engine
        self._temporary = temporary
        self._savepoints: list[_Savepoint] = []

    def settle(self) -> None:
        """Call before each statement: the end of a transaction is the state of one statement."""
        if not self.depth:
            self.state = TransactionState.NONE

    def begin(self, name: str) -> None:
        """Begin a transaction; within one, only count it."""
        self.state = TransactionState.IN_PROGRESS
        if not self.depth:
            self._engine.begin()
            self._savepoints = [_Savepoint(name, dict(self._temporary))]
        self.depth += 1

    def save(self, name: str) -> None:
        """Set a savepoint; raises SqlError 628 outside a transaction."""
        if not self.depth:
            raise SqlError(628)
        self._engine.save(len(self._savepoints))
        self._savepoints.append(_Savepoint(name, dict(self._temporary)))

    def commit(self) -> None:
        """End the innermost transaction; the outermost one keeps the changes."""
        if self.depth == 1:
            self._engine.commit()
            self._savepoints = []
            self.state = TransactionState.SUCCEEDED
        self.depth = max(self.depth - 1, 0)

    def rollback(self, name: str = "") -> None:
        """Roll back all transactions, or to a savepoint; raises SqlError 6401 for an unknown name."""
        if not self.depth:
            return
        places = [place for place, savepoint in enumerate(self._savepoints) if savepoint.name == name]
        if name and not places:
            raise SqlError(6401, name)
        place = places[-1] if name else 0
        self._restore(self._savepoints[place:])
        if place:
            self._engine.rollback_to(place)
            del self._savepoints[place + 1 :]
            self._savepoints[place].rows.clear()
        else:
            self._engine.rollback()
            self._savepoints = []
            self.depth = 0
            self.state = TransactionState.ABORTED

    def remember(self, table: PermanentTable) -> None:
        """Call before the rows of a permanent table are replaced."""
        if self.depth and all(known is not table for known, _ in self._savepoints[-1].rows):
            self._savepoints[-1].rows.append((table, table.rows))

    def _restore(self, savepoints: Sequence[_Savepoint]) -> None:
        for savepoint in reversed(savepoints):
            for table, rows in savepoint.rows:
                table.rows = rows
        self._temporary.clear()
        self._temporary.update(savepoints[0].temporary)
