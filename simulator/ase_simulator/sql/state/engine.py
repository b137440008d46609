"""The embedded engine: one in-memory SQLite database per session, with ASE's functions and collation."""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import chain, count, islice
from typing import Any, cast

from ase_simulator.contracts import Row, ServerError
from ase_simulator.results import Type
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.types.rules import STRINGS, is_number
from ase_simulator.sql.types.values import WIDE, EngineValue, decimal_of, exact, to_engine

_AT_ONCE = 5000
LOCKED = "locked"

_log = logging.getLogger(__name__)


class EmbeddedEngine:
    """SQLite database of a session. A ServerError raised by a function reaches the caller unchanged.

    shared: URI of the database that all sessions have as `client`. Its readers lock nothing: Locks does.
    """

    def __init__(self, shared: str) -> None:
        self._db = sqlite3.connect(
            "file:?mode=memory",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        self._db.execute("PRAGMA case_sensitive_like = ON")
        self._db.execute("ATTACH ? AS client", (shared,))
        self._db.execute("PRAGMA read_uncommitted = ON")
        self._in_thread = threading.RLock()
        self._error: ServerError | None = None
        self._loaded: dict[tuple[str, str, str, int], str] = {}
        self._db.create_aggregate("only_value", 1, self._only_value())
        self._db.create_aggregate("sum_exact", 1, cast(Any, _ExactSum))
        self._named = 0

    def function(self, name: str, implementation: Callable[..., EngineValue], *, pure: bool) -> None:
        """Registers a scalar function; a ServerError that it raises reaches the caller of run()."""

        def wrapped(*arguments: EngineValue) -> EngineValue:
            try:
                return implementation(*arguments)
            except ServerError as error:
                self._error = error
                raise

        self._db.create_function(name, -1, wrapped, deterministic=pure)

    def _only_value(self) -> Any:
        """Aggregate for a subquery used as an expression; a second row raises SqlError 512."""
        engine = self

        class OnlyValue:
            def __init__(self) -> None:
                self.values: list[Any] = []

            def step(self, value: Any) -> None:
                self.values.append(value)
                if len(self.values) > 1:
                    engine._error = SqlError(512)
                    raise engine._error

            def finalize(self) -> Any:
                return self.values[0] if self.values else None

        return OnlyValue

    def load(
        self,
        table: TableDefinition,
        rows: Iterable[Row],
        used: Sequence[str],
        database: str = "",
    ) -> str:
        """Loads the used columns of a table's rows; returns its name in the engine."""
        key = database, table.scope, table.name, table.shape
        name = self._loaded.get(key)
        # In one transaction: one for each row would take twice as long.
        with self.atomic():
            if name is None:
                name = f"loaded{len(self._loaded)}"
                self.create(name, [column.type for column in table.columns])
            else:
                self._db.execute(f"DELETE FROM {name}")
            order = {column.name: index for index, column in enumerate(table.columns)}
            if used:
                places = ", ".join(f"c{order[column]}" for column in used)
                marks = ", ".join("?" * len(used))
                insert = f"INSERT INTO {name} ({places}) VALUES ({marks})"
                self._db.executemany(insert, values(table, rows, used))
            else:
                self._db.executemany(f"INSERT INTO {name} (c0) VALUES (?)", ((None,) for _ in rows))
        self._loaded[key] = name
        return name

    def create(self, name: str, types: Sequence[Type]) -> None:
        """An empty table with columns c0, c1, …"""
        columns = [_column(index, type_) for index, type_ in enumerate(types)]
        self.run(f"CREATE TABLE {name} ({', '.join(columns)})")

    def new_name(self) -> str:
        self._named += 1
        return f"stored{self._named}"

    def change(self, sql: str, rows: Iterable[Sequence[EngineValue]]) -> None:
        """Runs a statement once for each row of values; raises SqlError."""
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as problem:
            raise self.translate_error(problem) from None

    def drop(self, name: str) -> None:
        """Drops a table. One that another session's query reads now stays: nothing finds it, as no name comes again."""
        try:
            self._db.execute(f"DROP TABLE IF EXISTS {name}")
        except sqlite3.OperationalError as problem:
            if LOCKED not in str(problem):
                raise

    def run(
        self, sql: str, values: Mapping[str, EngineValue] | None = None
    ) -> Iterator[tuple[EngineValue, ...]]:
        """Runs one statement and returns its rows; raises SqlError."""
        try:
            cursor = self._db.execute(sql, values or {})
        except sqlite3.Error as problem:
            raise self.translate_error(problem) from None
        return self._rows(cursor)

    def first_rows(
        self, sql: str, values: Mapping[str, EngineValue]
    ) -> tuple[list[tuple[EngineValue, ...]], Iterator[tuple[EngineValue, ...]]]:
        """For a worker thread: runs a query, returns its first rows and an iterator of the others; raises SqlError."""
        with self._in_thread:
            rows = self.run(sql, values)
            return list(islice(rows, _AT_ONCE)), rows

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All changes within are made, or none."""
        self._db.execute("SAVEPOINT statement")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO statement")
            raise
        finally:
            self._db.execute("RELEASE statement")

    def interrupt(self) -> None:
        """Stops a query in another thread; returns when it has stopped."""
        self._db.interrupt()
        with self._in_thread:
            pass

    def close(self) -> None:
        """Closes the database once no thread uses it; SQLite would crash otherwise."""
        self._db.interrupt()
        with self._in_thread:
            self._db.close()

    def translate_error(self, problem: sqlite3.Error) -> ServerError:
        """ASE's error for one of SQLite's."""
        kept, self._error = self._error, None
        if kept is not None:
            return kept
        if "integer overflow" in str(problem):
            return SqlError(3606)
        if "sub-select returns" in str(problem):
            return SqlError(121)
        if LOCKED in str(problem):
            return SqlError(225, "", detail=LOCKED)
        # "interrupted" is no fault: the session is being closed.
        if str(problem) != "interrupted":
            _log.exception("the engine refused a query")
        return NotSimulatedError("a query that the embedded engine refuses")

    def _rows(self, cursor: sqlite3.Cursor) -> Iterator[tuple[EngineValue, ...]]:
        try:
            # through chain, which has no close() to call once the connection is closed
            yield from chain(cursor)
        except sqlite3.Error as problem:
            raise self.translate_error(problem) from None


class SharedStore:
    """The database of the tables that all sessions of a server share. It lives as long as this object."""

    _numbers = count()

    def __init__(self) -> None:
        self.uri = f"file:client-tables-{os.getpid()}-{next(self._numbers)}?mode=memory&cache=shared"
        self._kept = sqlite3.connect(self.uri, uri=True, check_same_thread=False)


class _ExactSum:
    """Sum of exact numbers; NULL without any."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, value: EngineValue) -> None:
        if value is not None:
            self._sum = WIDE.add(self._sum or Decimal(0), decimal_of(value))

    def finalize(self) -> EngineValue:
        return None if self._sum is None else exact(self._sum)


def values(
    table: TableDefinition, rows: Iterable[Row], columns: Sequence[str]
) -> Iterator[tuple[EngineValue, ...]]:
    """The columns of a table's rows, as the engine has them: a number that is left out is 0, and anything else NULL."""
    kinds = [table.by_name[column].type for column in columns]
    parts = [
        (column, 0 if is_number(kind) else None, to_engine(kind))
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return (tuple([convert(row.get(column, absent)) for column, absent, convert in parts]) for row in rows)


def _column(index: int, type_: Type) -> str:
    return f"c{index} COLLATE RTRIM" if type_.name in STRINGS else f"c{index}"
