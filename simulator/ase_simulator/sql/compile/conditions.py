"""Compiles search conditions to the engine's SQL, with ASE's rules for NULL, blanks and mixed types."""

from collections.abc import Callable

from sqlglot import exp

from ase_simulator.sql.compile.operands import comparable, converted, is_string, number, string
from ase_simulator.sql.compile.scope import Scope, Select
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.types.rules import BINARIES, MOMENTS, STRINGS, Typed, is_number

Expression = Callable[[exp.Expr, Scope], Typed]

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}


class ConditionCompiler:
    """Compiles search conditions; expression and select compile their operands."""

    def __init__(self, expression: Expression, select: Select) -> None:
        self._expression = expression
        self._select = select

    def condition(self, node: exp.Expr, scope: Scope) -> str:
        """A search condition as SQL for the engine."""
        if isinstance(node, exp.Paren):
            return f"({self.condition(node.this, scope)})"
        if isinstance(node, exp.And | exp.Or):
            word = "AND" if isinstance(node, exp.And) else "OR"
            return f"({self.condition(node.this, scope)} {word} {self.condition(node.expression, scope)})"
        if isinstance(node, exp.Not):
            return f"NOT ({self.condition(node.this, scope)})"
        if type(node) in _COMPARISONS:
            return self._comparison(node, scope)
        if isinstance(node, exp.Is):
            return f"({self._expression(node.this, scope).sql} IS NULL)"
        if isinstance(node, exp.Exists):
            query = node.this if isinstance(node.this, exp.Query) else node.expressions[0]
            return f"EXISTS ({self._select(query, scope).sql})"
        if isinstance(node, exp.In):
            return self._in(node, scope)
        if isinstance(node, exp.Between):
            low = self.compare(">=", node.this, node.args["low"], scope)
            high = self.compare("<=", node.this, node.args["high"], scope)
            return f"({low} AND {high})"
        if isinstance(node, exp.Escape):
            return self._like(node.this, scope, node.expression)
        if isinstance(node, exp.Like):
            return self._like(node, scope, node.args.get("escape"))
        if isinstance(node, exp.Anonymous) and node.name == "f_exists":
            return f"EXISTS ({self._select(node.expressions[0], scope).sql})"
        raise SqlError(102, spelling(node))

    def _comparison(self, node: exp.Expr, scope: Scope) -> str:
        operator = _COMPARISONS[type(node)]
        left, right = node.this, node.expression
        if isinstance(right, exp.Any | exp.All):
            raise NotSimulatedError("comparisons with ANY and ALL")
        return self.compare(operator, left, right, scope)

    def compare(self, operator: str, left: exp.Expr, right: exp.Expr, scope: Scope) -> str:
        """One comparison; `= NULL` and `!= NULL` test for NULL, as ASE does where ansinull is off."""
        for one, other in ((left, right), (right, left)):
            if isinstance(other, exp.Null) and operator in ("=", "<>"):
                return f"({self._expression(one, scope).sql} IS {'NOT ' if operator == '<>' else ''}NULL)"
        sides = (self._expression(left, scope), self._expression(right, scope))
        first, second = _comparable(*sides), _comparable(*reversed(sides))
        nullable_variable = operator in ("=", "<>") and any(_is_variable(side) for side in (left, right))
        if nullable_variable:
            operator = "IS" if operator == "=" else "IS NOT"
        collation = " COLLATE RTRIM" if is_string(first) or is_string(second) else ""
        return f"({comparable(first)}{collation} {operator} {comparable(second)})"

    def _in(self, node: exp.In, scope: Scope) -> str:
        value = self._expression(node.this, scope)
        query = node.args.get("query")
        if query is not None:
            output = self._select(query.this if isinstance(query, exp.Subquery) else query, scope)
            if len(output.items) != 1:
                raise SqlError(121)
            collation = " COLLATE RTRIM" if is_string(value) else ""
            return f"({value.sql}{collation} IN ({output.sql}))"
        tests = [self.compare("=", node.this, item, scope) for item in node.expressions]
        return f"({' OR '.join(tests)})"

    def _like(self, node: exp.Expr, scope: Scope, escape: exp.Expr | None) -> str:
        value = string(self._expression(node.this, scope))
        pattern = string(self._expression(node.expression, scope))
        third = f", {self._expression(escape, scope).sql}" if escape is not None else ""
        negation = "NOT " if node.args.get("negate") else ""
        return f"{negation}f_like({value.sql}, {pattern.sql}{third})"


def _comparable(value: Typed, other: Typed) -> Typed:
    """One side of a comparison, as it is compared with the other one."""
    if value.type is None or other.type is None:
        return value
    if value.type.name in STRINGS and other.type.name in MOMENTS:
        return converted(value, other.type)
    if value.type.name in STRINGS and is_number(other.type):
        raise SqlError(257, value.type.name.upper(), other.type.name.upper())
    if value.type.name in BINARIES and is_number(other.type):
        return number(value, "=")
    return value


def _is_variable(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name == "f_variable"


def spelling(node: exp.Expr) -> str:
    """The text of a node in a syntax error."""
    return node.name or node.key
