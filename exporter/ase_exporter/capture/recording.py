"""A connection that records: each statement, its results as the driver reports them, its error and its duration."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint, Row
from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG, Watchdog
from ase_exporter.capture.file import LOGIN, ColumnType, Execution, Failure, Result
from ase_exporter.clock import SYSTEM_CLOCK, Clock

# The exporter's own tests of a connection: a replay answers them without a recording.
_PING = re.compile(r"select \d+")


class Recorder:
    """Collects the statements of all connections that it opens. scrape: the number recorded with them."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.scrape = 1
        self.statements: list[Execution] = []
        self.driver: dict[str, str] = {}
        self.monotonic = clock.monotonic
        self._began = clock.monotonic()
        self._watchdog = SYSTEM_WATCHDOG if clock is SYSTEM_CLOCK else Watchdog(clock)

    def open(self, endpoint: Endpoint, user: str, password: str, **options: Any) -> "RecordingConnection":
        """Log in, as `Connection.open` does."""
        started = self.monotonic()
        try:
            connection = RecordingConnection.open(
                endpoint, user, password, watchdog=self._watchdog, **options
            )
        except DatabaseError as error:
            self.add(LOGIN, started, [], error)
            raise
        connection.recorder = self
        self.driver = connection.driver_versions()
        return connection

    def add(self, sql: str, started: float, results: Sequence[Result], error: DatabaseError | None) -> None:
        """Record one execution that has just ended. started: monotonic."""
        if _PING.fullmatch(sql):
            return
        failure = None if error is None else Failure(error.kind, error.number, _text(error))
        seconds, at = self.monotonic() - started, started - self._began
        self.statements.append(Execution(self.scrape, sql, seconds, results, failure, at))

    def take(self) -> list[Execution]:
        """What was recorded since the last call; the next scrape begins."""
        taken, self.statements = self.statements, []
        self.scrape += 1
        return taken


class RecordingConnection(Connection):
    """Sends the same statements as a Connection, but one by one, so that each has its own time and error."""

    recorder: Recorder

    def query(self, sql: str, deadline: float) -> list[Row]:
        return list(self._record(sql, deadline)[0])

    def query_batch(self, selects: Sequence[str], next_deadline: Callable[[], float]) -> Iterator[list[Row]]:
        for sql in selects:
            yield self.query(sql, next_deadline())

    def query_messages(self, sql: str, deadline: float) -> list[str]:
        return self._record(sql, deadline, error_is_line=True)[1]

    def _record(
        self, sql: str, deadline: float, *, error_is_line: bool = False
    ) -> tuple[Sequence[Row], list[str]]:
        """The rows of the first result set, and all messages. Raises DatabaseError."""
        started = self.recorder.monotonic()
        results: list[Result] = []
        first: Sequence[Row] | None = None
        lines: list[str] = []
        failure: DatabaseError | None = None
        try:
            for messages, description, rows in self.results(sql, deadline):
                lines += messages
                columns = None if description is None else [_column(*each) for each in description]
                cells = [
                    [bytes(cell) if isinstance(cell, bytearray) else cell for cell in row] for row in rows
                ]
                results.append(Result(messages, columns, cells))
                if first is None and columns is not None:
                    first = rows
        except DatabaseError as error:
            failure = error
            if not (error_is_line and lines and error.usable and error.number is not None):
                raise
            lines += [f"Msg {error.number}, Level 16, State 1:", str(error)]
        finally:
            self.recorder.add(sql, started, results, failure)
        self.cost.rows += len(first or ())
        return first or [], lines


def _column(
    name: str, kind: type, _: object, size: int, __: object, scale: int | None, nullable: bool | None
) -> ColumnType:
    return ColumnType(name, kind.__name__, size, scale or 0, nullable is not False)


def _text(error: DatabaseError) -> str:
    return str(error).removeprefix(f"Msg {error.number}: ")
