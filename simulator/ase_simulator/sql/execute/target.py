"""Tables that INSERT, UPDATE and DELETE change; how tables are made and dropped."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ase_simulator.results import Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.state.engine import LOCKED
from ase_simulator.sql.state.tables import ClientTable, definition
from ase_simulator.sql.types.values import EngineValue

T = TypeVar("T")
_PAUSE = 0.001


async def unlocked(change: Callable[[], T]) -> T:
    """The result of a change of the engine's schema, which waits while another session's query reads it."""
    while True:
        try:
            return change()
        except SqlError as error:
            if error.detail != LOCKED:
                raise
        await asyncio.sleep(_PAUSE)


def client_table(session: Context, database: str, name: str) -> ClientTable:
    """A table that may be changed; raises SqlError 208 if there is none, 259 for one of the server's."""
    found = session.table(database, name)
    if not isinstance(found, ClientTable):
        raise SqlError(259)
    return found


class TargetTable:
    """A table that a statement changes; rows are identified by the engine's row numbers.

    A rollback undoes each change.
    """

    def __init__(self, session: Context, table: ClientTable) -> None:
        self.session = session
        self.table = table
        self.columns = table.columns
        self.key = (session.names.databases().get(table.table.scope, 2), table.number)
        self.full_name = f"{table.table.scope}.dbo.{table.name}"

    async def lock(self, rows: Iterable[EngineValue]) -> bool:
        """Lock rows, or the table for new ones; whether there was a wait, after which they may have changed."""
        if self.table.temporary:
            return False
        numbers = [int(row) for row in rows if row is not None]
        return await self.session.locks.write(self.session.locker, self.key, numbers)

    async def own(self) -> None:
        """Lock the whole table."""
        if not self.table.temporary:
            await self.session.locks.own(self.session.locker, self.key)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raises SqlError 233 if an INSERT leaves out a column that is NOT NULL."""
        for name in sorted(self.table.not_null.difference(columns)):
            raise SqlError(233, name, self.table.name)

    def check_values(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Raises SqlError 515 if a row, with its values in the order of places, has NULL in a NOT NULL column."""
        for index, place in enumerate(places):
            name = self.columns[place][0]
            if name in self.table.not_null and any(row[index] is None for row in rows):
                raise SqlError(515, name, self.full_name)

    async def insert(self, rows: Sequence[Sequence[EngineValue]]) -> None:
        """Adds rows that have a value for every column."""
        first = self.table.next_row
        self.table.next_row += len(rows)
        numbers = range(first, self.table.next_row)
        await self.lock(numbers)
        numbered = [[number, *row] for number, row in zip(numbers, rows, strict=True)]
        self._put(numbered)
        self.table.changed["insert"] += len(rows)
        self.session.transactions.record(lambda: self._remove(numbers))

    def update(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Sets columns; each row is the engine's row number followed by the new values."""
        numbers = [row[0] for row in rows]
        before = self._rows(numbers)
        new = {values[0]: list(values) for values in before}
        for row in rows:
            for place, value in zip(places, row[1:], strict=True):
                new[row[0]][place + 1] = value

        def put(values: Sequence[Sequence[EngineValue]]) -> None:
            self._remove(numbers)
            self._put(values)

        put(list(new.values()))
        self.table.changed["update"] += len(rows)
        self.session.transactions.record(lambda: put(before))

    def delete(self, numbers: Sequence[EngineValue]) -> None:
        """Removes rows by the engine's row numbers."""
        before = self._rows(numbers)
        self._remove(numbers)
        self.table.changed["delete"] += len(before)
        self.session.transactions.record(lambda: self._put(before))

    def truncate(self) -> None:
        """Removes all rows."""
        self.delete([row[0] for row in self._read("SELECT rowid FROM {}")])

    def place(self, column: str) -> int:
        """The index of a column; raises SqlError 207."""
        for place, (name, _) in enumerate(self.columns):
            if name == column:
                return place
        raise SqlError(207, column)

    def _read(self, sql: str) -> list[tuple[EngineValue, ...]]:
        return list(self.session.engine.run(sql.format(self.table.handle)))

    def _rows(self, numbers: Iterable[EngineValue]) -> list[tuple[EngineValue, ...]]:
        wanted = ", ".join(str(int(number)) for number in numbers if number is not None)
        return self._read(f"SELECT rowid, * FROM {{}} WHERE rowid IN ({wanted})")

    def _remove(self, numbers: Iterable[EngineValue]) -> None:
        self.session.engine.change(
            f"DELETE FROM {self.table.handle} WHERE rowid = ?", ((number,) for number in numbers)
        )

    def _put(self, rows: Sequence[Sequence[EngineValue]]) -> None:
        """Rows with the engine's row number before their values."""
        names = ", ".join(["rowid", *(f"c{place}" for place in range(len(self.columns)))])
        marks = ", ".join("?" * (len(self.columns) + 1))
        self.session.engine.change(f"INSERT INTO {self.table.handle} ({names}) VALUES ({marks})", rows)


def create_table(
    session: Context,
    database: str,
    name: str,
    columns: Sequence[tuple[str, Type]],
    not_null: frozenset[str] = frozenset(),
) -> ClientTable:
    """Creates a table, temporary if its name begins with #; raises SqlError 2714 if it exists."""
    names = [column for column, _ in columns]
    for index, column in enumerate(names):
        if column in names[:index]:
            raise SqlError(2705, column, name)
    temporary = name.startswith("#")
    database = "tempdb" if temporary else database or session.database
    hidden, shared = session.temporary.get(name), session.shared
    if temporary:
        if hidden is not None and hidden.level == session.nestlevel:
            raise SqlError(2714, name)
    elif database not in session.names.databases():
        raise SqlError(911, database)
    elif shared.permanent.find(database, name) or shared.catalog.find(name, database):
        raise SqlError(2714, name)
    number = shared.permanent.new_number()
    made = ClientTable(
        definition(database, name, columns, not_null),
        session.engine.new_name() if temporary else f"client.t{number}",
        number,
        temporary=temporary,
        level=session.nestlevel,
        hidden=hidden,
    )
    session.engine.create(made.handle, [type_ for _, type_ in columns])
    if temporary:
        session.temporary[name] = made
    else:
        shared.permanent.by_name[database, name] = made
    return made


def drop_table(session: Context, database: str, name: str) -> None:
    """Drops a table; raises SqlError 3701 if it does not exist."""
    permanent, key = session.shared.permanent.by_name, (database or session.database, name)
    dropped = session.temporary.pop(name, None) or permanent.pop(key, None)
    if dropped is None:
        raise SqlError(3701, "table", name)
    if dropped.hidden is not None:
        session.temporary[name] = dropped.hidden
    session.engine.drop(dropped.handle)
