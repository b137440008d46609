"""A connection to a target that counts its statements, rows, bytes and time."""

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import TypeVar

from ase_exporter.ase.connection import Connection
from ase_exporter.ase.cost import Cost
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.columns import Columns, Row

Rows = TypeVar("Rows", bound=Sized)


class Session:
    """Has the methods of `Connection`, and adds what is sent and received to the target's cost."""

    def __init__(self, connection: Connection, cost: Cost, clock: Clock = SYSTEM_CLOCK) -> None:
        self._connection = connection
        self._cost = cost
        self._monotonic = clock.monotonic
        self._received = 0

    def query(self, sql: str, deadline: float) -> list[Row]:
        self._cost.statements += 1
        return self._counted(lambda: self._connection.query(sql, deadline))

    def detect_charset(self, deadline: float) -> None:
        self._cost.statements += 1
        self._connection.detect_charset(deadline)

    def query_columns(self, sql: str, deadline: float) -> Columns | list[Row]:
        self._cost.statements += 1
        return self._counted(lambda: self._connection.query_columns(sql, deadline))

    def query_batch(self, selects: Sequence[str], next_deadline: Callable[[], float]) -> Iterator[list[Row]]:
        self._cost.statements += len(selects)
        results = self._connection.query_batch(selects, next_deadline)
        for _ in selects:
            yield self._counted(lambda: next(results))

    def is_large(self, sql: str) -> bool:
        return self._connection.is_large(sql)

    def count_received(self) -> None:
        """Add the bytes received since the last call."""
        previous, self._received = self._received, self._connection.received()
        self._cost.received += max(0, self._received - previous)

    def close(self) -> None:
        """Log out."""
        self.count_received()
        self._connection.close()

    def _counted(self, query: Callable[[], Rows]) -> Rows:
        started = self._monotonic()
        try:
            rows = query()
        finally:
            self._cost.seconds += self._monotonic() - started
        self._cost.rows += len(rows)
        return rows
