"""Compiles a parsed query to SQL for the embedded engine, with the exact types of its columns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from ase_simulator.results import Column, Type
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.sql.compile.expressions import ExpressionCompiler, is_aggregate
from ase_simulator.sql.compile.operands import common_type, comparable, converted
from ase_simulator.sql.compile.scope import Bindings, Output, Scope, Source
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.types.rules import INT, Typed, may_be_text

_OUTER_JOIN = re.compile("(LEFT|RIGHT|FULL) JOIN")


@dataclass
class Load:
    """A table of the model that must be loaded into the engine before the query runs."""

    table: TableDefinition
    database: str
    handle: str
    sources: list[Source] = field(default_factory=list)

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The columns that the query needs, in the table's order; read it once the query is compiled."""
        names = set().union(*(source.used for source in self.sources))
        return tuple(column.name for column in self.table.columns if column.name in names)


@dataclass(slots=True)
class Compiled:
    """A query ready to run.

    sql holds each load's handle in braces; variables: @variables that it reads; tables: all its tables by database and
    name; types: of all its variables. plain: the columns of a query that only lists columns of one table of the model,
    for which the engine is not needed. isolation: the level that the query itself asks for.
    """

    sql: str
    columns: Sequence[Column]
    loads: Sequence[Load]
    variables: Sequence[str]
    into: exp.Table | None = None
    assigns: Sequence[str] = ()
    tables: Mapping[tuple[str, str], TableDefinition | ClientTable] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)
    plain: Sequence[str] = ()
    isolation: int | None = None

    @property
    def client_tables(self) -> list[ClientTable]:
        return [table for table in self.tables.values() if isinstance(table, ClientTable)]

    def holds_for(self, session: Context) -> bool:
        """Whether its names mean the same in a session; raises SqlError for one that the session does not know."""
        return all(session.table(*name) is table for name, table in self.tables.items()) and all(
            session.variable_type(name) == type_ for name, type_ in self.types.items()
        )


class QueryCompiler:
    """Compiles one statement."""

    def __init__(self, symbols: Context) -> None:
        self._bindings = Bindings(symbols)
        self._expressions = ExpressionCompiler(self._bindings, self.select)
        self._conditions = self._expressions.conditions
        self._loads: dict[tuple[str, str], Load] = {}
        self._tables: dict[tuple[str, str], TableDefinition | ClientTable] = {}
        self._count = 0

    def query(self, tree: exp.Expr) -> Compiled:
        """A whole query; raises SqlError."""
        into = tree.args.get("into") or (tree.left.args.get("into") if isinstance(tree, exp.Union) else None)
        items = tree.expressions if isinstance(tree, exp.Select) else ()
        self._bindings.assigned = {name for node in items if (name := self._assignment(node))}
        output = self.select(tree, Scope())
        assigns = [name for name, _ in output.items if name.startswith("@")]
        if assigns and len(assigns) < len(output.items):
            raise SqlError(141)
        columns = [Column(name, typed.type or INT, typed.nullable) for name, typed in output.items]
        return Compiled(
            output.sql,
            columns,
            list(self._loads.values()),
            sorted(self._bindings.variables),
            into.this if into else None,
            assigns,
            self._tables,
            self._bindings.types,
            self._plain(tree),
        )

    def _plain(self, tree: exp.Expr) -> Sequence[str]:
        """The columns, if the query only lists columns of one table of the model."""
        given = {name for name, value in tree.args.items() if value}
        if given != {"expressions", "from_"} or not isinstance(tree.args["from_"].this, exp.Table):
            return ()
        columns = [node.unalias() for node in tree.expressions]
        if len(self._loads) != 1 or not all(type(node) is exp.Column for node in columns):
            return ()
        (load,) = self._loads.values()
        listed = [node.name for node in columns]
        return listed if len(load.sources) == 1 and load.table.by_name.keys() >= set(listed) else ()

    def select(self, tree: exp.Expr, outer: Scope) -> Output:
        """A SELECT or UNION with its ORDER BY."""
        if isinstance(tree, exp.Subquery):
            return self.select(tree.this, outer)
        if isinstance(tree, exp.SetOperation):
            return self._union(tree, outer)
        if not isinstance(tree, exp.Select):
            raise SqlError(102, tree.key)
        scope = Scope(outer)
        from_sql, conditions = self._from(tree, scope)
        if _OUTER_JOIN.search(from_sql):
            for source in scope.sources:
                source.not_null = frozenset()
        self._check_grouped(tree, scope)
        items = self._items(tree, scope)
        sql = ["SELECT"]
        if tree.args.get("distinct"):
            sql.append("DISTINCT")
        sql.append(", ".join(f"{typed.sql} AS c{i}" for i, (_, typed) in enumerate(items)))
        if from_sql:
            sql.append(f"FROM {from_sql}")
        if conditions:
            sql.append("WHERE " + " AND ".join(conditions))
        elif not from_sql and tree.args.get("where"):
            sql.append(f"WHERE {self._conditions.condition(tree.args['where'].this, scope)}")
        sql += self._grouping(tree, scope)
        sql += self._ordering(tree, scope, items)
        sql += self._limit(tree)
        return Output(" ".join(sql), items)

    def _check_grouped(self, tree: exp.Select, scope: Scope) -> None:
        """Raises NotSimulatedError where ASE joins each group with the rows that are in it."""
        grouped = tree.args["group"].expressions if tree.args.get("group") else []
        nodes = [self._value(node) for node in tree.expressions]
        totals = any(is_aggregate(part) for node in nodes for part in node.walk(prune=_is_query))
        if not (grouped or totals or tree.args.get("having")):
            return
        keys = [scope.resolve(node.name, node.table) for node in grouped if isinstance(node, exp.Column)]
        for node in nodes:
            for part in node.walk(
                prune=lambda part: is_aggregate(part) or _is_query(part) or part in grouped
            ):
                if isinstance(part, exp.Star):
                    raise NotSimulatedError("columns that are not grouped by")
                if isinstance(part, exp.Column) and part not in grouped:
                    source, place = scope.resolve(part.name, part.table)
                    known = any(source is key[0] and place == key[1] for key in keys)
                    if not known and any(source is own for own in scope.sources):
                        raise NotSimulatedError("columns that are not grouped by")

    # -- select list ------------------------------------------------------------------------------------

    def _items(self, tree: exp.Select, scope: Scope) -> list[tuple[str, Typed]]:
        items: list[tuple[str, Typed]] = []
        for node in tree.expressions:
            if isinstance(node, exp.Star):
                if not scope.sources:
                    raise SqlError(102, "*")
                for source in scope.sources:
                    items += self._all_of(source)
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                items += self._all_of(scope.prefixed(node.table))
            else:
                items.append(self._item(node, scope))
        return items

    def _item(self, node: exp.Expr, scope: Scope) -> tuple[str, Typed]:
        if isinstance(node, exp.Alias):
            return node.alias, self._expressions.expression(node.this, scope)
        if isinstance(node, exp.EQ):
            name = self._assigned(node.this)
            if name:
                typed = self._expressions.expression(node.expression, scope)
                return name, self._expressions.kept(name, typed) if name in self._bindings.assigned else typed
        name = node.name if isinstance(node, exp.Column) else ""
        return name, self._expressions.expression(node, scope)

    @classmethod
    def _value(cls, node: exp.Expr) -> exp.Expr:
        """An item of a select list without its name."""
        return node.expression if isinstance(node, exp.EQ) and cls._assigned(node.this) else node.unalias()

    @classmethod
    def _assignment(cls, node: exp.Expr) -> str:
        """The variable that an item of a select list sets, or ''."""
        name = cls._assigned(node.this) if isinstance(node, exp.EQ) else ""
        return name if name.startswith("@") else ""

    @staticmethod
    def _assigned(node: exp.Expr) -> str:
        if isinstance(node, exp.Anonymous) and node.name == "f_variable":
            return str(node.expressions[0].this)
        if isinstance(node, exp.Column) and not node.table:
            return node.name
        return ""

    @staticmethod
    def _all_of(source: Source) -> list[tuple[str, Typed]]:
        return [(name, source.typed(index)) for index, (name, _) in enumerate(source.columns)]

    # -- sources ----------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select, scope: Scope) -> tuple[str, list[str]]:
        """The FROM clause and the remaining conditions of WHERE."""
        clause = tree.args.get("from_") or tree.args.get("from")
        where = tree.args.get("where")
        if clause is None:
            return "", []
        texts = [self._source(clause.this, scope)]
        joiners = [""]
        pending: list[tuple[int, exp.Expr]] = []
        for join in [*clause.this.args.get("joins", ()), *(tree.args.get("joins") or ())]:
            texts.append(self._source(join.this, scope))
            joiners.append(_joiner(join))
            if join.args.get("on") is not None:
                pending.append((len(texts) - 1, join.args["on"]))
        for index, condition in pending:
            texts[index] += f" ON {self._conditions.condition(condition, scope)}"
        conjuncts = list(where.this.flatten()) if where and isinstance(where.this, exp.And) else []
        if where and not conjuncts:
            conjuncts = [where.this]
        sql = " ".join(f"{joiner} {text}".strip() for joiner, text in zip(joiners, texts, strict=True))
        return sql, [self._conditions.condition(part, scope) for part in conjuncts]

    def _source(self, node: exp.Expr, scope: Scope) -> str:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise NotSimulatedError("joins in brackets")
        if isinstance(node, exp.Subquery):
            return self._derived(node, scope)
        if isinstance(node, exp.Table):
            return self._table(node, scope)
        raise SqlError(102, node.key)

    def _derived(self, node: exp.Subquery, scope: Scope) -> str:
        output = self.select(node.this, Scope())
        alias = node.args.get("alias")
        renamed = [column.name for column in alias.columns] if alias is not None else []
        names = renamed or [name for name, _ in output.items]
        handle = self._handle()
        columns = [(name, typed.type) for name, (_, typed) in zip(names, output.items, strict=True)]
        scope.sources.append(Source((node.alias,), handle, columns))
        return f"({output.sql}) AS {handle}"

    def _table(self, node: exp.Table, scope: Scope) -> str:
        database, name = node.catalog, table_name(node)
        if not name:
            raise SqlError(102, "(")
        if node.db and not node.catalog and not isinstance(node.args.get("db"), str):
            database = ""
        found = self._bindings.symbols.table(database, name)
        self._tables[database, name] = found
        handle = self._handle()
        alias = node.alias
        names = [alias] if alias else [name, node.name, f"{node.db}.{name}"]
        if isinstance(found, ClientTable):
            scope.sources.append(Source(names, handle, found.columns, name, found.not_null))
            return f"{found.handle} AS {handle}"
        not_null = frozenset(column.name for column in found.columns if not column.nullable)
        source = Source(
            names, handle, [(column.name, column.type) for column in found.columns], name, not_null
        )
        scope.sources.append(source)
        load = self._loads.setdefault((database, name), Load(found, database, f"{{{database}.{name}}}"))
        load.sources.append(source)
        return f"{load.handle} AS {handle}"

    def _handle(self) -> str:
        self._count += 1
        return f"s{self._count}"

    # -- the rest of the clauses ------------------------------------------------------------------------

    def _grouping(self, tree: exp.Select, scope: Scope) -> list[str]:
        sql = []
        group = tree.args.get("group")
        if group is not None and group.expressions:
            texts = []
            for node in group.expressions:
                typed = self._expressions.expression(node, scope)
                texts.append(f"({typed.sql})" if typed.sql.isdigit() else typed.sql)
            sql.append("GROUP BY " + ", ".join(texts))
        having = tree.args.get("having")
        if having is not None:
            sql.append("HAVING " + self._conditions.condition(having.this, scope))
        return sql

    def _ordering(self, tree: exp.Expr, scope: Scope | None, items: Sequence[tuple[str, Typed]]) -> list[str]:
        order = tree.args.get("order")
        if order is None:
            return []
        texts = [
            self._order_key(ordered.this, scope, items) + (" DESC" if ordered.args.get("desc") else "")
            for ordered in order.expressions
        ]
        return ["ORDER BY " + ", ".join(texts)]

    def _order_key(self, node: exp.Expr, scope: Scope | None, items: Sequence[tuple[str, Typed]]) -> str:
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.this)
            if not 1 <= place <= len(items):
                raise SqlError(108, place)
            return self._result_key(place - 1, items)
        if isinstance(node, exp.Column) and not node.table:
            for index, (name, _) in enumerate(items):
                if name == node.name:
                    return self._result_key(index, items)
        if scope is None:
            raise SqlError(207, node.name)
        return comparable(self._expressions.expression(node, scope))

    @staticmethod
    def _result_key(index: int, items: Sequence[tuple[str, Typed]]) -> str:
        """The order key of a column of the result; by its expression, as tables have a column c0 too."""
        typed = items[index][1]
        return comparable(typed) if may_be_text(typed.type) else str(index + 1)

    def _limit(self, tree: exp.Expr) -> list[str]:
        limit = tree.args.get("limit")
        if limit is None:
            return []
        count = limit.expression if limit.expression is not None else limit.this
        return [f"LIMIT {self._expressions.expression(count, Scope()).sql}"]

    def _union(self, tree: exp.SetOperation, outer: Scope) -> Output:
        sql, items = self._compound(tree, outer)
        ordering = self._ordering(tree, None, items)
        return Output(" ".join([f"SELECT * FROM ({sql})", *ordering, *self._limit(tree)]), items)

    def _compound(self, tree: exp.Expr, outer: Scope) -> tuple[str, list[tuple[str, Typed]]]:
        """SELECTs with UNION between them, without a bracket around each pair: SQLite bears only some depth."""
        if not isinstance(tree, exp.SetOperation):
            output = self.select(tree, outer)
            return f"SELECT * FROM ({output.sql})", output.items
        left, left_items = self._compound(tree.left, outer)
        right = self.select(tree.right, outer)
        if len(left_items) != len(right.items):
            raise SqlError(205)
        items = [
            (name, Typed(f"c{place}", common_type(typed.type, other.type), typed.nullable or other.nullable))
            for place, ((name, typed), (_, other)) in enumerate(zip(left_items, right.items, strict=True))
        ]
        left = _aligned(left, left_items, items)
        right_sql = _aligned(f"SELECT * FROM ({right.sql})", right.items, items)
        word = {"Union": "UNION", "Except": "EXCEPT", "Intersect": "INTERSECT"}[type(tree).__name__]
        if word == "UNION" and not tree.args.get("distinct"):
            word = "UNION ALL"
        return f"{left} {word} {right_sql}", items


def _aligned(sql: str, items: Sequence[tuple[str, Typed]], wanted: Sequence[tuple[str, Typed]]) -> str:
    """A query with its values converted to the types of a UNION."""
    places = [
        converted(Typed(f"c{place}", typed.type), other.type).sql
        for place, ((_, typed), (_, other)) in enumerate(zip(items, wanted, strict=True))
    ]
    if places == [f"c{place}" for place in range(len(places))]:
        return sql
    return f"SELECT {', '.join(f'{text} AS c{place}' for place, text in enumerate(places))} FROM ({sql})"


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query | exp.Subquery)


def table_name(node: exp.Table) -> str:
    """A table's name; sqlglot removes the # of a temporary one."""
    return f"#{node.name}" if node.this.args.get("temporary") else node.name


def _joiner(join: exp.Join) -> str:
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if side in ("LEFT", "RIGHT", "FULL"):
        return f"{side} JOIN"
    if kind == "CROSS":
        return "CROSS JOIN"
    return "JOIN" if kind == "INNER" or join.args.get("on") is not None else ","
