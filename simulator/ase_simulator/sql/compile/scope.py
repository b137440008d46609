"""Resolves column names against the sources of a query and its outer queries, with ASE's errors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ase_simulator.results import Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.types.rules import Typed


@dataclass(slots=True)
class Source:
    """One table of a FROM clause.

    names: prefixes for its columns; handle: its name in the engine; table: its own name; not_null: columns that
    are never NULL.
    """

    names: Sequence[str]
    handle: str
    columns: Sequence[tuple[str, Type | None]]
    table: str = ""
    not_null: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)

    def index(self, name: str) -> int | None:
        """The place of a column; case counts."""
        for index, (column, _) in enumerate(self.columns):
            if column == name:
                return index
        return None

    def typed(self, index: int) -> Typed:
        name, type_ = self.columns[index]
        self.used.add(name)
        return Typed(f"{self.handle}.c{index}", type_, name not in self.not_null)


@dataclass(slots=True)
class Scope:
    """The names that one SELECT sees."""

    outer: "Scope | None" = None
    sources: list[Source] = field(default_factory=list)

    def _outwards(self) -> Iterator["Scope"]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def resolve(self, name: str, prefix: str) -> tuple[Source, int]:
        """The source and place of a column; raises SqlError 107, 207 or 209."""
        for scope in self._outwards():
            found = [
                (source, index)
                for source in scope.sources
                if (not prefix or prefix in source.names) and (index := source.index(name)) is not None
            ]
            if len(found) > 1:
                raise SqlError(209, name)
            if found:
                return found[0]
        known = {each for scope in self._outwards() for source in scope.sources for each in source.names}
        if prefix and prefix not in known:
            raise SqlError(107, prefix)
        raise SqlError(207, name)

    def prefixed(self, prefix: str) -> Source:
        """The source that a prefix names, for `prefix.*`."""
        for source in self.sources:
            if prefix in source.names:
                return source
        raise SqlError(107, prefix)

    def of_table(self, name: str) -> Source:
        """The source that is a table, by its alias or its own name."""
        for source in self.sources:
            if name in source.names or name == source.table:
                return source
        raise SqlError(107, name)


@dataclass(slots=True)
class Output:
    """One compiled SELECT: its text without ORDER BY, and what it returns."""

    sql: str
    items: list[tuple[str, Typed]]


@dataclass(slots=True)
class Bindings:
    """Variables of one compilation: read from parameters of the engine, and assigned by the query's select list.

    types: of all of them.
    """

    symbols: Context
    types: dict[str, Type] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)

    def type_of(self, name: str) -> Type:
        """The type of a variable; raises SqlError 137."""
        type_ = self.types[name] = self.symbols.variable_type(name)
        return type_


Select = Callable[[exp.Expr, Scope], Output]
