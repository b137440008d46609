"""The embedded engine: one in-memory SQLite per session, with ASE's functions and comparison rules."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from statistics import StatisticsError
from typing import Any

from ase_simulator.results import Type
from ase_simulator.schema.catalog import Table
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.types import STRINGS
from ase_simulator.sql.values import EngineValue, to_engine

_AT_ONCE = 5000

_log = logging.getLogger(__name__)


class Engine:
    """SQLite behind a session. Functions that refuse raise SqlError through it unharmed."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256
        )
        self._db.execute("PRAGMA case_sensitive_like = ON")
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._in_thread = threading.Lock()
        self._refusal: SqlError | None = None
        self._loaded: dict[str, str] = {}
        self._db.create_aggregate("only_value", 1, self._only_value())
        self._named = 0

    def function(self, name: str, implementation: Callable[..., EngineValue], *, pure: bool) -> None:
        """Makes a function callable; what it raises as SqlError reaches the caller of run()."""

        def guarded(*arguments: EngineValue) -> EngineValue:
            try:
                return implementation(*arguments)
            except SqlError as refusal:
                self._refusal = refusal
                raise

        self._db.create_function(name, -1, guarded, deterministic=pure)

    def aggregate(self, name: str, spread: Callable[[list[float]], float]) -> None:
        """Makes an aggregate callable that works on all values at once; too few of them give NULL."""

        class Aggregate:
            def __init__(self) -> None:
                self.values: list[float] = []

            def step(self, value: Any) -> None:
                if value is not None:
                    self.values.append(float(value))

            def finalize(self) -> Any:
                try:
                    return float(spread(self.values))
                except StatisticsError:
                    return None

        self._db.create_aggregate(name, 1, Aggregate)

    def _only_value(self) -> Any:
        """What a subquery used as an expression gives; a second row is message 512."""
        engine = self

        class OnlyValue:
            def __init__(self) -> None:
                self.values: list[Any] = []

            def step(self, value: Any) -> None:
                self.values.append(value)
                if len(self.values) > 1:
                    engine._refusal = SqlError(512)
                    raise engine._refusal

            def finalize(self) -> Any:
                return self.values[0] if self.values else None

        return OnlyValue

    def load(
        self, table: Table, rows: Iterable[Mapping[str, object]], used: Sequence[str], database: str = ""
    ) -> str:
        """Puts a table's rows (only the columns used) where queries find them; gives its name there."""
        key = f"{database}.{table.scope}.{table.name}/{len(table.columns)}"
        name = self._loaded.get(key)
        if name is None:
            name = f"loaded{len(self._loaded)}"
            self._loaded[key] = name
            self.create(name, [column.type for column in table.columns])
        else:
            self._db.execute(f"DELETE FROM {name}")
        order = {column.name: index for index, column in enumerate(table.columns)}
        if used:
            converters = [(column, to_engine(table.by_name[column].type)) for column in used]
            places = ", ".join(f"c{order[column]}" for column in used)
            marks = ", ".join("?" * len(used))
            self._db.executemany(
                f"INSERT INTO {name} ({places}) VALUES ({marks})",
                ([convert(row.get(column)) for column, convert in converters] for row in rows),
            )
        else:
            self._db.executemany(f"INSERT INTO {name} (c0) VALUES (?)", ((None,) for _ in rows))
        return name

    def create(self, name: str, types: Sequence[Type]) -> None:
        """An empty table with columns c0, c1, …"""
        self._db.execute(f"CREATE TABLE {name} ({', '.join(_column(i, t) for i, t in enumerate(types))})")

    def new_name(self) -> str:
        """A name that no table has yet."""
        self._named += 1
        return f"stored{self._named}"

    def change(self, sql: str, rows: Iterable[Sequence[EngineValue]]) -> None:
        """Runs a statement once for each row of values; raises SqlError."""
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as problem:
            raise self.refusal(problem) from None

    def drop(self, name: str) -> None:
        """The end of a table."""
        self._db.execute(f"DROP TABLE IF EXISTS {name}")

    def run(
        self, sql: str, values: Mapping[str, EngineValue] | None = None
    ) -> tuple[Iterator[tuple[EngineValue, ...]], int]:
        """Runs one statement: its rows, and how many rows it changed; raises SqlError."""
        try:
            cursor = self._db.execute(sql, values or {})
        except sqlite3.Error as problem:
            raise self.refusal(problem) from None
        return self._rows(cursor), cursor.rowcount

    def first_rows(
        self, sql: str, values: Mapping[str, EngineValue]
    ) -> tuple[list[tuple[EngineValue, ...]], Iterator[tuple[EngineValue, ...]]]:
        """For a thread: runs one query as far as its first rows, gives these and the rest; raises SqlError."""
        with self._in_thread:
            rows, _ = self.run(sql, values)
            return list(islice(rows, _AT_ONCE)), rows

    def insert(self, name: str, rows: Iterable[Sequence[EngineValue]], width: int) -> None:
        """Adds rows as they are."""
        self._db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", rows)

    def interrupt(self) -> None:
        """Stops what runs in another thread, and returns when it has stopped."""
        self._db.interrupt()
        with self._in_thread:
            pass

    def close(self) -> None:
        """Frees all memory. SQLite crashes where a connection is closed while another thread uses it."""
        self._db.interrupt()
        with self._in_thread:
            self._db.close()

    def refusal(self, problem: sqlite3.Error) -> SqlError:
        """ASE's error for one of SQLite's."""
        kept, self._refusal = self._refusal, None
        if kept is not None:
            return kept
        if "integer overflow" in str(problem):
            return SqlError(3606)
        if "sub-select returns" in str(problem):
            return SqlError(121)
        # Interrupted: the session is being ended, by ourselves.
        if str(problem) != "interrupted":
            _log.error("the engine refused: %s", problem)
        return SqlError(702)

    def _rows(self, cursor: sqlite3.Cursor) -> Iterator[tuple[EngineValue, ...]]:
        try:
            # through chain, which has no close() to call once the connection is closed
            yield from chain(cursor)
        except sqlite3.Error as problem:
            raise self.refusal(problem) from None


def _column(index: int, type_: Type) -> str:
    return f"c{index} COLLATE RTRIM" if type_.name in STRINGS else f"c{index}"
