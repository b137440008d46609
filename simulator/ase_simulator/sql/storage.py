"""Tables that clients make: temporary ones of a session, and permanent ones that all sessions share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ase_simulator.results import Type
from ase_simulator.schema.catalog import ColumnDefinition, Table
from ase_simulator.sql.compiler import Stored
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.lexer import Token
from ase_simulator.sql.values import EngineValue

if TYPE_CHECKING:
    from ase_simulator.sql.session import SqlSession

_FIRST_NUMBER = 800_000_000


@dataclass(slots=True)
class Permanent:
    """A table in a database. rows hold the engine's values; identity: the column that numbers them, or ''."""

    table: Table
    number: int
    identity: str = ""
    defaults: Mapping[str, Sequence[Token]] = field(default_factory=dict)
    rows: list[tuple[EngineValue, ...]] = field(default_factory=list)

    def as_rows(self) -> Iterator[Mapping[str, object]]:
        """The rows by column name."""
        names = [column.name for column in self.table.columns]
        for row in self.rows:
            yield dict(zip(names, row, strict=True))


class PermanentTables:
    """All tables that clients made in a server's databases."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], Permanent] = {}
        self._next = _FIRST_NUMBER

    def find(self, database: str, name: str) -> Permanent | None:
        """The table of that name in a database."""
        return self._tables.get((database, name))

    def in_database(self, database: str) -> list[Permanent]:
        """All tables of a database."""
        return [table for (place, _), table in self._tables.items() if place == database]

    def create(
        self,
        database: str,
        name: str,
        columns: Sequence[tuple[str, Type]],
        identity: str,
        defaults: Mapping[str, Sequence[Token]],
    ) -> None:
        """A new, empty table."""
        definitions = [ColumnDefinition(column, type_) for column, type_ in columns]
        table = Table(name, database, definitions, by_name={column.name: column for column in definitions})
        self._next += 32
        self._tables[database, name] = Permanent(table, self._next, identity, defaults)

    def drop(self, database: str, name: str) -> None:
        """The end of a table."""
        del self._tables[database, name]

    def name_of(self, number: int) -> str | None:
        """The name of an object id."""
        return next((held.table.name for held in self._tables.values() if held.number == number), None)


class Target:
    """One table that a statement changes, wherever it lives; rows go by the engine's row numbers."""

    def __init__(self, session: "SqlSession", database: str, name: str) -> None:
        self.session = session
        self.name = name
        self._permanent: Permanent | None = None
        found = session.temporary.get(name)
        if found is not None:
            self.columns: Sequence[tuple[str, Type]] = found.columns
            self.identity = found.identity
            self.defaults = found.defaults
            self.handle = found.handle
            return
        permanent = session.backend.permanent.find(database or session.database, name)
        if permanent is None:
            session.table(database, name)
            raise SqlError(259)
        self._permanent = permanent
        self.columns = [(column.name, column.type) for column in permanent.table.columns]
        self.identity = permanent.identity
        self.defaults = permanent.defaults

    def __enter__(self) -> "Target":
        if self._permanent is not None:
            names = [column.name for column in self._permanent.table.columns]
            engine = self.session.engine
            self.handle = engine.load(self._permanent.table, self._permanent.as_rows(), names)
        return self

    def __exit__(self, *_: object) -> None:
        if self._permanent is not None:
            rows, _count = self.session.engine.run(f"SELECT * FROM {self.handle} ORDER BY rowid")
            self._permanent.rows = list(rows)

    def insert(self, rows: Sequence[Sequence[EngineValue]]) -> None:
        """Adds rows that have a value for every column; the identity column gets the next numbers."""
        if self.identity:
            rows = self._numbered(rows)
        self.session.engine.insert(self.handle, rows, len(self.columns))

    def _numbered(self, rows: Sequence[Sequence[EngineValue]]) -> list[list[EngineValue]]:
        place = [name for name, _ in self.columns].index(self.identity)
        found, _ = self.session.engine.run(f"SELECT coalesce(max(c{place}), 0) FROM {self.handle}")
        last = int(next(found)[0] or 0)
        numbered = []
        for row in rows:
            values = list(row)
            if values[place] is None:
                last += 1
                values[place] = last
            numbered.append(values)
        self.session.identity = last
        return numbered

    def update(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Sets columns; each row is the engine's row number followed by the new values."""
        setting = ", ".join(f"c{place} = ?" for place in places)
        self.session.engine.change(
            f"UPDATE {self.handle} SET {setting} WHERE rowid = ?", ([*row[1:], row[0]] for row in rows)
        )

    def delete(self, numbers: Sequence[EngineValue]) -> None:
        """Removes rows by the engine's row numbers."""
        self.session.engine.change(f"DELETE FROM {self.handle} WHERE rowid = ?", ((n,) for n in numbers))

    def truncate(self) -> None:
        """Removes all rows."""
        self.session.engine.run(f"DELETE FROM {self.handle}")

    def place(self, column: str) -> int:
        """Where a column stands; raises SqlError 207."""
        for place, (name, _) in enumerate(self.columns):
            if name == column:
                return place
        raise SqlError(207, column)


def create_table(
    session: "SqlSession",
    database: str,
    name: str,
    columns: Sequence[tuple[str, Type]],
    identity: str = "",
    defaults: Mapping[str, Sequence[Token]] | None = None,
) -> None:
    """A new table, temporary where its name begins with #; raises SqlError 2714 where there is one."""
    names = [column for column, _ in columns]
    for index, column in enumerate(names):
        if column in names[:index]:
            raise SqlError(2705, column, name)
    if name.startswith("#"):
        if name in session.temporary:
            raise SqlError(2714, name)
        handle = session.engine.new_name()
        session.engine.create(handle, [type_ for _, type_ in columns])
        session.temporary[name] = Stored(handle, list(columns), identity, defaults or {})
        return
    database = database or session.database
    if database not in session.databases():
        raise SqlError(911, database)
    if session.backend.permanent.find(database, name) or session.backend.catalog.find(name, database):
        raise SqlError(2714, name)
    session.backend.permanent.create(database, name, columns, identity, defaults or {})


def drop_table(session: "SqlSession", database: str, name: str) -> None:
    """The end of a table; raises SqlError 3701 where there is none."""
    stored = session.temporary.pop(name, None)
    if stored is not None:
        session.engine.drop(stored.handle)
        return
    database = database or session.database
    if session.backend.permanent.find(database, name) is None:
        raise SqlError(3701, "table", name)
    session.backend.permanent.drop(database, name)
