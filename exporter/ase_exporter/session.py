"""A connection to a target, and the count of what goes over it."""

import time
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import TypeVar

from ase_exporter.connection import Connection, Row
from ase_exporter.cost import Cost
from ase_exporter.table import Table

Rows = TypeVar("Rows", bound=Sized)


class Session:
    """As the connection; what is sent and read goes into the target's cost."""

    def __init__(self, connection: Connection, cost: Cost) -> None:
        self._connection = connection
        self._cost = cost
        self._received = 0

    def query(self, sql: str, deadline: float) -> list[Row]:
        """As `Connection.query`."""
        self._cost.statements += 1
        return self._counted(lambda: self._connection.query(sql, deadline))

    def read(self, sql: str, deadline: float) -> Table | list[Row]:
        """As `Connection.read`."""
        self._cost.statements += 1
        return self._counted(lambda: self._connection.read(sql, deadline))

    def together(self, selects: Sequence[str], limit: Callable[[], float]) -> Iterator[list[Row]]:
        """As `Connection.together`."""
        self._cost.statements += len(selects)
        results = self._connection.together(selects, limit)
        for _ in selects:
            yield self._counted(lambda: next(results))

    def is_large(self, sql: str) -> bool:
        """As `Connection.is_large`."""
        return self._connection.is_large(sql)

    def count_received(self) -> None:
        """Add what has come since the last time."""
        before, self._received = self._received, self._connection.received()
        self._cost.received += max(0, self._received - before)

    def close(self) -> None:
        """Log out."""
        self.count_received()
        self._connection.close()

    def _counted(self, read: Callable[[], Rows]) -> Rows:
        started = time.monotonic()
        try:
            rows = read()
        finally:
            self._cost.seconds += time.monotonic() - started
        self._cost.rows += len(rows)
        return rows
