"""Transactions of one session: what undoes its changes, in reverse order."""

from collections.abc import Callable

from ase_simulator.sql.state.locks import Locker, Locks

Action = Callable[[], None]


class Transactions:
    """BEGIN, COMMIT and ROLLBACK. Locks are held to the end of the outermost transaction."""

    def __init__(self, locks: Locks, locker: Locker) -> None:
        self.depth = 0
        self._locks = locks
        self._locker = locker
        self._undo: list[Action] = []

    def begin(self, name: str, *, chained: bool = False) -> None:
        """Start a transaction; a nested one is only counted."""
        if not self.depth:
            shown = "$chained_transaction" if chained else name or "$user_transaction"
            self._locker.state.transaction, self._locker.state.began = shown, self._locker.now()
        self.depth += 1

    def commit(self) -> None:
        """End the innermost transaction; the outermost one keeps the changes."""
        if self.depth == 1:
            self._locker.state.transactions += 1
            self._end()
        self.depth = max(self.depth - 1, 0)

    def rollback(self) -> None:
        if not self.depth:
            return
        while self._undo:
            self._undo.pop()()
        self.depth = 0
        self._locker.state.rollbacks += 1
        self._end()

    def record(self, undo: Action) -> None:
        """Remember how to undo a change that was made."""
        if self.depth:
            self._undo.append(undo)

    def end_statement(self) -> None:
        """A statement that is no part of a transaction gives up its locks."""
        if not self.depth:
            self._locks.release(self._locker)

    def _end(self) -> None:
        self._undo = []
        self._locker.state.transaction, self._locker.state.began = "", None
        self._locks.release(self._locker)
