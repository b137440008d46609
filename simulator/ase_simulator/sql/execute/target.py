"""Tables that INSERT, UPDATE and DELETE change, CREATE TABLE and DROP TABLE."""

from collections.abc import Mapping, Sequence

from ase_simulator.results import Type
from ase_simulator.sql.context import StatementContext
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.queries import compile_query
from ase_simulator.sql.state.tables import PermanentTable, TemporaryTable
from ase_simulator.sql.syntax.lexer import Kind, Token
from ase_simulator.sql.syntax.statements import Constraint
from ase_simulator.sql.types.values import EngineValue


class TargetTable:
    """A table that a statement changes, temporary or permanent; rows are identified by the engine's row numbers."""

    def __init__(self, session: StatementContext, database: str, name: str) -> None:
        self.session = session
        self.name = name
        self._permanent: PermanentTable | None = None
        self._before: list[tuple[EngineValue, ...]] = []
        found = session.temporary.get(name)
        if found is not None:
            self.columns: Sequence[tuple[str, Type]] = found.columns
            self.identity = found.identity
            self.defaults = found.defaults
            self.handle = found.handle
            self.not_null = found.not_null
            self.constraints = found.constraints
            self.full_name = f"tempdb.dbo.{name}"
            return
        permanent = session.shared.permanent.find(database or session.database, name)
        if permanent is None:
            session.table(database, name)
            raise SqlError(259)
        self._permanent = permanent
        self.columns = [(column.name, column.type) for column in permanent.table.columns]
        self.identity = permanent.identity
        self.defaults = permanent.defaults
        self.not_null = permanent.not_null
        self.constraints = permanent.constraints
        self.full_name = f"{permanent.table.scope}.dbo.{name}"

    def __enter__(self) -> "TargetTable":
        if self._permanent is not None:
            names = [column.name for column in self._permanent.table.columns]
            engine = self.session.engine
            self.handle = engine.load(self._permanent.table, self._permanent.as_rows(), names)
        elif self.constraints:
            self._before = list(self.session.engine.run(f"SELECT rowid, * FROM {self.handle}")[0])
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        self._check_constraints()
        if self._permanent is not None:
            self.session.transactions.remember(self._permanent)
            rows, _count = self.session.engine.run(f"SELECT * FROM {self.handle} ORDER BY rowid")
            self._permanent.rows = list(rows)

    def _check_constraints(self) -> None:
        """Raises SqlError 2601 or 548 if a constraint is not met; the table is then as it was."""
        try:
            for constraint in self.constraints:
                self.check(constraint)
        except SqlError:
            if self._permanent is None:
                self.truncate()
                marks = ", ".join("?" * len(self.columns))
                names = ", ".join(f"c{place}" for place in range(len(self.columns)))
                sql = f"INSERT INTO {self.handle} (rowid, {names}) VALUES (?, {marks})"
                self.session.engine.change(sql, self._before)
            raise

    def check(self, constraint: Constraint) -> None:
        """Raises SqlError 2601 or 548 if the rows do not meet a constraint."""
        if constraint.check:
            error = SqlError(548, self.full_name.split(".")[0], self.name, constraint.name)
            sql = self._failing(constraint.check)
        else:
            error = SqlError(2601, self.name, constraint.name)
            keys = ", ".join(f"c{self.place(column)}" for column in constraint.columns)
            sql = f"SELECT 1 FROM {self.handle} GROUP BY {keys} HAVING count(*) > 1"
        rows, _ = self.session.engine.run(f"{sql} LIMIT 1")
        if next(rows, None) is not None:
            raise error

    def _failing(self, check: Sequence[Token]) -> str:
        """SQL for the rows that a CHECK rejects; one that is neither true nor false does not."""
        line = check[0].line
        words = [
            Token(Kind.WORD, word, line, 0, 0)
            for word in ("select", "1", "from", self.name, "where", "not", "(")
        ]
        words[1] = Token(Kind.NUMBER, "1", line, 0, 0)
        words[-1] = Token(Kind.OPERATOR, "(", line, 0, 0)
        if self._permanent is not None:
            dot = Token(Kind.OPERATOR, ".", line, 0, 0)
            words[3:3] = [Token(Kind.WORD, str(self._permanent.table.scope), line, 0, 0), dot, dot]
        compiled = compile_query(self.session, [*words, *check, Token(Kind.OPERATOR, ")", line, 0, 0)])
        sql = compiled.sql
        for load in compiled.loads:
            sql = sql.replace(load.handle, self.handle)
        return sql

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raises SqlError 233 if an INSERT leaves out a column that is NOT NULL."""
        for name, _ in self.columns:
            if name in self.not_null and name not in columns and name not in self.defaults:
                raise SqlError(233, name, self.name)

    def check_values(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Raises SqlError 515 if a row, with its values in the order of places, has NULL in a NOT NULL column."""
        for index, place in enumerate(places):
            name = self.columns[place][0]
            if name in self.not_null and any(row[index] is None for row in rows):
                raise SqlError(515, name, self.full_name)

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

    def has(self, number: int) -> bool:
        """Whether the engine has a row of that number."""
        rows, _ = self.session.engine.run(f"SELECT 1 FROM {self.handle} WHERE rowid = {number:d}")
        return next(rows, None) is not None

    def delete(self, numbers: Sequence[EngineValue]) -> None:
        """Removes rows by the engine's row numbers."""
        self.session.engine.change(f"DELETE FROM {self.handle} WHERE rowid = ?", ((n,) for n in numbers))

    def truncate(self) -> None:
        """Removes all rows."""
        self.session.engine.run(f"DELETE FROM {self.handle}")

    def place(self, column: str) -> int:
        """The index of a column; raises SqlError 207."""
        for place, (name, _) in enumerate(self.columns):
            if name == column:
                return place
        raise SqlError(207, column)


def create_table(
    session: StatementContext,
    database: str,
    name: str,
    columns: Sequence[tuple[str, Type]],
    identity: str = "",
    defaults: Mapping[str, Sequence[Token]] | None = None,
    not_null: frozenset[str] = frozenset(),
    constraints: Sequence[Constraint] = (),
) -> None:
    """Creates a table, temporary if its name begins with #; raises SqlError 2714 if it exists."""
    names = [column for column, _ in columns]
    for index, column in enumerate(names):
        if column in names[:index]:
            raise SqlError(2705, column, name)
    if name.startswith("#"):
        hidden = session.temporary.get(name)
        if hidden is not None and hidden.level == session.nestlevel:
            raise SqlError(2714, name)
        handle = session.engine.new_name()
        session.engine.create(handle, [type_ for _, type_ in columns])
        session.temporary[name] = TemporaryTable(
            handle,
            list(columns),
            identity,
            defaults or {},
            not_null,
            list(constraints),
            session.nestlevel,
            hidden,
        )
        return
    database = database or session.database
    if database not in session.names.databases():
        raise SqlError(911, database)
    if session.shared.permanent.find(database, name) or session.shared.catalog.find(name, database):
        raise SqlError(2714, name)
    session.shared.permanent.create(database, name, columns, identity, defaults or {}, not_null, constraints)


def drop_table(session: StatementContext, database: str, name: str) -> None:
    """Drops a table; raises SqlError 3701 if it does not exist."""
    if name in session.temporary:
        session.drop_temporary([name])
        return
    database = database or session.database
    if session.shared.permanent.find(database, name) is None:
        raise SqlError(3701, "table", name)
    session.shared.permanent.drop(database, name)
