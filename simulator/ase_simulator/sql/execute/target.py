"""Tables that INSERT, UPDATE and DELETE change, CREATE, ALTER and DROP TABLE."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ase_simulator.results import Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.queries import compile_query
from ase_simulator.sql.state.tables import ClientTable, definition
from ase_simulator.sql.syntax.lexer import Token, tokenize
from ase_simulator.sql.syntax.statements import Constraint
from ase_simulator.sql.types.convert import convert
from ase_simulator.sql.types.rules import STRINGS
from ase_simulator.sql.types.values import EngineValue, to_engine


def client_table(session: Context, database: str, name: str) -> ClientTable:
    """A table that may be changed; raises SqlError 208 if there is none, 259 for one of the server's."""
    found = session.table(database, name)
    if not isinstance(found, ClientTable):
        raise SqlError(259)
    return found


class TargetTable:
    """A table that a statement changes; rows are identified by the engine's row numbers.

    Each change is done as a whole or not at all, by a savepoint of the engine, and is undone by a rollback.
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

    async def own(self, *, share: bool = False) -> None:
        """Lock the whole table, against changes only if share."""
        if self.table.temporary:
            return
        if share:
            await self.session.locks.read(self.session.locker, self.key, keep=True)
        else:
            await self.session.locks.own(self.session.locker, self.key)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raises SqlError 233 if an INSERT leaves out a column that is NOT NULL."""
        for name in sorted(self.table.not_null - {*columns, *self.table.defaults, self.table.identity}):
            raise SqlError(233, name, self.table.name)

    def check_values(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Raises SqlError 515 if a row, with its values in the order of places, has NULL in a NOT NULL column."""
        for index, place in enumerate(places):
            name = self.columns[place][0]
            if name in self.table.not_null and any(row[index] is None for row in rows):
                raise SqlError(515, name, self.full_name)

    async def insert(self, rows: Sequence[Sequence[EngineValue]]) -> None:
        """Adds rows that have a value for every column; the identity column gets the next numbers."""
        if self.table.identity:
            rows = self._numbered(rows)
        first = self.table.next_row
        self.table.next_row += len(rows)
        numbers = range(first, self.table.next_row)
        await self.lock(numbers)
        names = ", ".join(f"c{place}" for place in range(len(self.columns)))
        marks = ", ".join("?" * (len(self.columns) + 1))
        sql = f"INSERT INTO {self.table.handle} (rowid, {names}) VALUES ({marks})"
        numbered = [[number, *row] for number, row in zip(numbers, rows, strict=True)]
        self._change("insert", len(rows), lambda: self.session.engine.change(sql, numbered))
        self.session.transactions.record(lambda: self._remove(numbers))

    def _numbered(self, rows: Sequence[Sequence[EngineValue]]) -> list[list[EngineValue]]:
        place = self.place(self.table.identity)
        numbered = [list(row) for row in rows]
        for values in numbered:
            if values[place] is None:
                self.table.last_identity += 1
                values[place] = self.table.last_identity
            self.table.last_identity = max(self.table.last_identity, int(values[place] or 0))
            self.session.identity = int(values[place] or 0)
        return numbered

    def update(self, places: Sequence[int], rows: Sequence[Sequence[EngineValue]]) -> None:
        """Sets columns; each row is the engine's row number followed by the new values."""
        before = self._rows([row[0] for row in rows])
        setting = ", ".join(f"c{place} = ?" for place in places)
        sql = f"UPDATE {self.table.handle} SET {setting} WHERE rowid = ?"
        changes = [[*row[1:], row[0]] for row in rows]

        def run() -> None:
            # A key may pass through the value of another row: the last pass decides.
            if len(changes) > 1 and any(each.columns for each in self.table.constraints):
                self._remove(row[0] for row in rows)
                new = {values[0]: list(values) for values in before}
                for row in rows:
                    for place, value in zip(places, row[1:], strict=True):
                        new[row[0]][place + 1] = value
                self._put_back(list(new.values()))
            else:
                self.session.engine.change(sql, changes)

        self._change("update", len(rows), run)
        numbers = [row[0] for row in rows]

        def undo() -> None:
            self._remove(numbers)
            self._put_back(before)

        self.session.transactions.record(undo)

    def delete(self, numbers: Sequence[EngineValue]) -> None:
        """Removes rows by the engine's row numbers."""
        before = self._rows(numbers)
        self._change("delete", len(before), lambda: self._remove(numbers))
        self.session.transactions.record(lambda: self._put_back(before))

    def truncate(self) -> None:
        """Removes all rows."""
        self.delete([row[0] for row in self._read("SELECT rowid FROM {}")])

    def _change(self, kind: str, count: int, run: Callable[[], None]) -> None:
        with self.session.engine.atomic():
            try:
                run()
            except SqlError as error:
                raise self._explained(error) from None
            self._check_references()
        self.table.changed[kind] += count

    def _read(self, sql: str) -> list[tuple[EngineValue, ...]]:
        return list(self.session.engine.run(sql.format(self.table.handle))[0])

    def _rows(self, numbers: Iterable[EngineValue]) -> list[tuple[EngineValue, ...]]:
        wanted = ", ".join(str(int(number)) for number in numbers if number is not None)
        return self._read(f"SELECT rowid, * FROM {{}} WHERE rowid IN ({wanted})")

    def _remove(self, numbers: Iterable[EngineValue]) -> None:
        self.session.engine.change(
            f"DELETE FROM {self.table.handle} WHERE rowid = ?", ((number,) for number in numbers)
        )

    def _put_back(self, rows: Sequence[Sequence[EngineValue]]) -> None:
        if rows:
            names = ", ".join(f"c{place}" for place in range(len(self.columns)))
            marks = ", ".join("?" * len(rows[0]))
            sql = f"INSERT INTO {self.table.handle} (rowid, {names}) VALUES ({marks})"
            self.session.engine.change(sql, rows)

    def _explained(self, error: SqlError) -> SqlError:
        """ASE's message for a constraint that the engine says is not met."""
        found = re.match(r"(\w+) constraint failed: (.*)", error.detail)
        if found is None:
            return error
        if found[1] == "CHECK":
            return SqlError(548, self.table.table.scope, self.table.name, found[2])
        names = re.findall(r"index '([^']+)'", found[2])
        key = next(
            (each for each in self.table.constraints if names and _index(self.table, each) == names[0]), None
        )
        return SqlError(2601, self.table.name, key.name if key else self.table.name)

    def _check_references(self) -> None:
        """Raises SqlError 546 or 547 if a row refers to none, or is referred to and no longer there."""
        for child, constraint, parent in references(self.session):
            if self.table not in (child, parent):
                continue
            pairs = [
                (f"c{place_of(child, own)}", f"c{place_of(parent, other)}")
                for own, other in zip(constraint.columns, constraint.referenced, strict=True)
            ]
            given = " AND ".join(f"a.{own} IS NOT NULL" for own, _ in pairs)
            same = " AND ".join(f"a.{own} = b.{other}" for own, other in pairs)
            sql = (
                f"SELECT 1 FROM {child.handle} a WHERE {given} "
                f"AND NOT EXISTS (SELECT 1 FROM {parent.handle} b WHERE {same}) LIMIT 1"
            )
            if next(self.session.engine.run(sql)[0], None) is not None:
                number = 546 if self.table is child else 547
                raise SqlError(number, child.table.scope, child.name, constraint.name)

    def place(self, column: str) -> int:
        """The index of a column; raises SqlError 207."""
        return place_of(self.table, column)


def place_of(table: ClientTable, column: str) -> int:
    """The index of a column; raises SqlError 207."""
    for place, (name, _) in enumerate(table.columns):
        if name == column:
            return place
    raise SqlError(207, column)


def references(session: Context) -> list[tuple[ClientTable, Constraint, ClientTable]]:
    """Every foreign key: its table, the constraint, and the table that it refers to."""
    permanent = session.shared.permanent
    return [
        (child, constraint, parent)
        for (database, _), child in permanent.by_name.items()
        for constraint in child.constraints
        if constraint.references and (parent := permanent.find(database, constraint.references)) is not None
    ]


def create_table(
    session: Context,
    database: str,
    name: str,
    columns: Sequence[tuple[str, Type]],
    identity: str = "",
    defaults: dict[str, Sequence[Token]] | None = None,
    not_null: frozenset[str] = frozenset(),
    constraints: Sequence[Constraint] = (),
) -> ClientTable:
    """Creates a table, temporary if its name begins with #; raises SqlError 2714 if it exists."""
    names = [column for column, _ in columns]
    for index, column in enumerate(names):
        if column in names[:index]:
            raise SqlError(2705, column, name)
    temporary = name.startswith("#")
    database = "tempdb" if temporary else database or session.database
    hidden = session.temporary.get(name) if temporary else None
    shared = session.shared
    if temporary:
        if hidden is not None and hidden.level == session.nestlevel:
            raise SqlError(2714, name)
    elif database not in session.names.databases():
        raise SqlError(911, database)
    elif shared.permanent.find(database, name) or shared.catalog.find(name, database):
        raise SqlError(2714, name)
    made = ClientTable(
        definition(database, name, columns, not_null | {identity}),
        session.engine.new_name() if temporary else f"client.t{shared.permanent.new_number()}",
        shared.permanent.new_number(),
        identity,
        defaults or {},
        temporary=temporary,
        level=session.nestlevel,
        hidden=hidden,
    )
    registry: dict[object, ClientTable] = session.temporary if temporary else shared.permanent.by_name  # type: ignore[assignment]
    key: object = name if temporary else (database, name)
    registry[key] = made
    try:
        session.engine.create(made.handle, [type_ for _, type_ in columns])
        for constraint in constraints:
            _add(session, made, constraint)
    except SqlError:
        del registry[key]
        session.engine.drop(made.handle)
        raise

    def undo() -> None:
        if registry.get(key) is made:
            del registry[key]
            if hidden is not None:
                registry[key] = hidden
        session.engine.drop(made.handle)

    session.transactions.record(undo)
    return made


def add_constraint(session: Context, table: ClientTable, constraint: Constraint) -> None:
    """Adds a constraint that all rows meet; raises SqlError 1505, 548, 207 or 1715."""
    _add(session, table, constraint)
    if not constraint.check:

        def undo() -> None:
            table.constraints[:] = [each for each in table.constraints if each.name != constraint.name]
            session.engine.run(f"DROP INDEX IF EXISTS {_index(table, constraint)}")

        session.transactions.record(undo)


def _add(session: Context, table: ClientTable, constraint: Constraint) -> None:
    """Adds a constraint; how to undo that is recorded of a CHECK alone, for which the table is made again."""
    if any(each.name == constraint.name for each in table.constraints):
        raise SqlError(1913, table.name, constraint.name)
    if constraint.references:
        database = table.table.scope
        parent = session.shared.permanent.find(database, constraint.references)
        if parent is None:
            raise SqlError(208, constraint.references)
        key = next((each.columns for each in parent.constraints if each.primary), ())
        constraint = replace(constraint, referenced=constraint.referenced or key)
        for own, other in zip(constraint.columns, constraint.referenced, strict=True):
            place_of(table, own), place_of(parent, other)
        table.constraints.append(constraint)
        try:
            TargetTable(session, table)._check_references()
        except SqlError:
            table.constraints.remove(constraint)
            raise
        return
    if constraint.check:
        rebuild(session, table, table.columns, constraints=[*table.constraints, constraint])
        return
    keys = []
    for column in constraint.columns:
        place = place_of(table, column)
        collation = " COLLATE RTRIM" if table.columns[place][1].name in STRINGS else ""
        keys.append(f"ifnull(c{place}, x'00'){collation}")
    if constraint.unique:
        name = table.handle.rpartition(".")[2]
        try:
            session.engine.run(
                f"CREATE UNIQUE INDEX {_index(table, constraint)} ON {name} ({', '.join(keys)})"
            )
        except SqlError as error:
            raise SqlError(1505) if "UNIQUE" in error.detail else error from None
    table.constraints.append(constraint)


def _index(table: ClientTable, constraint: Constraint) -> str:
    """The engine's name of the index behind a key, with its schema."""
    return f"{table.handle}_{re.sub(r'[^A-Za-z0-9]', '_', constraint.name)}"


def drop_constraint(session: Context, table: ClientTable, name: str) -> None:
    """Drops a constraint or an index; raises SqlError 3701."""
    found = next((each for each in table.constraints if each.name == name), None)
    if found is None:
        raise SqlError(3701, "index", f"{table.name}.{name}")
    rebuild(
        session, table, table.columns, constraints=[each for each in table.constraints if each is not found]
    )


def fitted(source: Type, wanted: Type, value: EngineValue) -> EngineValue:
    """A value as a column of the wanted type takes it; raises SqlError."""
    if value is None or source == wanted:
        return value
    return convert(source, wanted, value, how="implicit")


def rebuild(
    session: Context,
    table: ClientTable,
    columns: Sequence[tuple[str, Type]],
    not_null: frozenset[str] | None = None,
    constraints: Sequence[Constraint] | None = None,
    values: dict[str, EngineValue] | None = None,
) -> None:
    """Gives a table other columns or constraints; values: of new columns in the rows that there are."""
    old, kept = table.handle, list(table.constraints)
    definition_before = table.table
    rows = list(session.engine.run(f"SELECT rowid, * FROM {old}")[0])
    wanted = table.not_null if not_null is None else not_null
    before = {name: (place, type_) for place, (name, type_) in enumerate(table.columns, 1)}
    new_rows = [[row[0]] for row in rows]
    for name, type_ in columns:
        place, source = before.get(name, (0, type_))
        for row, new in zip(rows, new_rows, strict=True):
            new.append(fitted(source, type_, row[place]) if place else (values or {}).get(name))
            if new[-1] is None and name in wanted:
                raise SqlError(515, name, f"{table.table.scope}.dbo.{table.name}")
    number = session.shared.permanent.new_number()
    table.handle = session.engine.new_name() if table.temporary else f"client.t{number}"
    table.table = definition(table.table.scope, table.name, columns, wanted)
    table.constraints = []
    constraints = kept if constraints is None else constraints
    try:
        checks = [(each.name, _check(session, table, each)) for each in constraints if each.check]
        session.engine.create(table.handle, [type_ for _, type_ in columns], checks)
        table.constraints = [each for each in constraints if each.check]
        names = ", ".join(["rowid", *(f"c{place}" for place in range(len(columns)))])
        marks = ", ".join("?" * (len(columns) + 1))
        session.engine.change(f"INSERT INTO {table.handle} ({names}) VALUES ({marks})", new_rows)
        for each in constraints:
            if not each.check:
                _add(session, table, each)
    except SqlError as error:
        session.engine.drop(table.handle)
        failed = TargetTable(session, table)._explained(error)
        table.handle, table.table, table.constraints = old, definition_before, kept
        raise failed from None
    after = (table.handle, table.table, table.constraints)

    def undo() -> None:
        table.handle, table.table, table.constraints = old, definition_before, kept
        session.engine.drop(after[0])

    session.transactions.record(undo, lambda: session.engine.drop(old))


def _check(session: Context, table: ClientTable, constraint: Constraint) -> str:
    """SQL for the engine of the condition of a CHECK."""
    name = table.name if table.temporary else f"[{table.table.scope}]..[{table.name}]"
    compiled = compile_query(session, [*tokenize(f"select 1 from {name} where"), *constraint.check])
    return compiled.sql.partition(" WHERE ")[2].replace("s1.", "")


def drop_table(session: Context, database: str, name: str) -> None:
    """Drops a table; raises SqlError 3701 if it does not exist, 3712 if another refers to it."""
    if name in session.temporary:
        dropped = session.temporary.pop(name)
        if dropped.hidden is not None:
            session.temporary[name] = dropped.hidden
        session.transactions.record(
            lambda: session.temporary.update({name: dropped}), lambda: session.engine.drop(dropped.handle)
        )
        return
    database = database or session.database
    permanent = session.shared.permanent
    found = permanent.find(database, name)
    if found is None:
        raise SqlError(3701, "table", name)
    if any(parent is found and child is not found for child, _, parent in references(session)):
        raise SqlError(3712, name)
    del permanent.by_name[database, name]
    session.transactions.record(
        lambda: permanent.by_name.update({(database, name): found}), lambda: session.engine.drop(found.handle)
    )


def converted_rows(types: Sequence[Type], rows: Iterable[Sequence[object]]) -> list[list[EngineValue]]:
    """Rows of a result set as the engine holds them."""
    converters = [to_engine(type_) for type_ in types]
    return [[convert(value) for convert, value in zip(converters, row, strict=True)] for row in rows]
