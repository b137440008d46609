"""Compiles expressions to the engine's SQL, with ASE's types and ASE's meaning."""

from collections.abc import Sequence

from sqlglot import exp

from ase_simulator.results import Type
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.compile.conditions import ConditionCompiler, spelling
from ase_simulator.sql.compile.operands import (
    coalesce,
    common_type,
    comparable,
    concatenation,
    converted,
    is_string,
    literal,
    number,
    string,
    string_literal,
    type_name,
)
from ase_simulator.sql.compile.scope import Bindings, Scope, Select
from ase_simulator.sql.errors import NotSimulatedError, SqlError, refusal
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.registry import Function
from ase_simulator.sql.syntax.grammar import PREFIX
from ase_simulator.sql.types.rules import (
    BIGINT,
    INT,
    INTEGERS,
    MOMENTS,
    Typed,
    arithmetic,
    averaged,
    is_number,
    may_be_text,
    summed,
    varchar,
)

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.DPipe: "||",
}
_AGGREGATES = frozenset({"count", "count_big", "sum", "avg", "min", "max"})


class ExpressionCompiler:
    """Compiles expressions; select: compiles a subquery."""

    def __init__(self, bindings: Bindings, select: Select) -> None:
        self.conditions = ConditionCompiler(self.expression, select)
        self._bindings = bindings
        self._select = select

    def expression(self, node: exp.Expr, scope: Scope) -> Typed:
        """One expression with its type."""
        if isinstance(node, exp.Paren):
            inner = self.expression(node.this, scope)
            return Typed(f"({inner.sql})", inner.type, inner.nullable, inner.text)
        if isinstance(node, exp.Literal):
            if node.is_string:
                return string_literal(str(node.this))
            return Typed(str(node.this), INT, False)
        if isinstance(node, exp.Null):
            return Typed("NULL", None)
        if isinstance(node, exp.Column):
            source, index = scope.resolve(node.name, node.table)
            return source.typed(index)
        if type(node) in _ARITHMETIC:
            return self._operation(_ARITHMETIC[type(node)], node, scope)
        if isinstance(node, exp.Neg):
            inner = self.expression(node.this, scope)
            if not is_number(inner.type):
                raise SqlError(403, "MINUS", type_name(inner))
            if may_be_text(inner.type):
                return Typed(f"calculate('-', 0, {inner.sql})", inner.type, inner.nullable)
            return Typed(f"(- {inner.sql})", inner.type, inner.nullable)
        if isinstance(node, exp.BitwiseNot):
            inner = self.expression(node.this, scope)
            return Typed(f"(~ {inner.sql})", inner.type, inner.nullable)
        if isinstance(node, exp.Case):
            return self._case(node, scope)
        if isinstance(node, exp.Subquery | exp.Select):
            output = self._select(node.this if isinstance(node, exp.Subquery) else node, scope)
            if len(output.items) != 1:
                raise SqlError(116 if len(output.items) > 1 else 102)
            if _has_one_row(node):
                return Typed(f"({output.sql})", output.items[0][1].type)
            return Typed(f"(SELECT only_value(c0) FROM ({output.sql}))", output.items[0][1].type)
        if isinstance(node, exp.Anonymous):
            return self._call(node, scope)
        raise SqlError(102, spelling(node))

    def _operation(self, operator: str, node: exp.Expr, scope: Scope) -> Typed:
        left, right = self.expression(node.this, scope), self.expression(node.expression, scope)
        nullable = left.nullable or right.nullable
        if operator == "||" or (operator == "+" and (is_string(left) or is_string(right))):
            return concatenation(left, right)
        left, right = number(left, operator), number(right, operator)
        if left.type is None and right.type is None:
            return Typed("NULL", None)
        type_ = arithmetic(operator, left.type or right.type or INT, right.type or left.type or INT)
        if operator in ("&", "|"):
            return Typed(f"({left.sql} {operator} {right.sql})", type_, nullable)
        if operator == "^":
            return Typed(f"(({left.sql} | {right.sql}) - ({left.sql} & {right.sql}))", type_, nullable)
        if operator in ("/", "%"):
            kind = "whole" if type_.name in INTEGERS else "numeric" if type_.name == "numeric" else "real"
            name = "divide" if operator == "/" else "modulo"
            return Typed(f"{name}_{kind}({left.sql}, {right.sql}, {type_.scale})", type_, nullable)
        sql = f"({left.sql} {operator} {right.sql})"
        if may_be_text(type_):
            sql = f"calculate('{operator}', {left.sql}, {right.sql})"
        if type_.name in INTEGERS:
            sql = f"fit('{type_.name}', {sql})"
        return Typed(sql, type_, nullable)

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        branches: list[tuple[str, Typed]] = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                test = self.conditions.compare("=", node.this, branch.this, scope)
            else:
                test = self.conditions.condition(branch.this, scope)
            branches.append((test, self.expression(branch.args["true"], scope)))
        default = node.args.get("default")
        otherwise = self.expression(default, scope) if default is not None else Typed("NULL", None)
        type_ = otherwise.type
        for _, typed in branches:
            type_ = common_type(type_, typed.type)
        values = [converted(typed, type_) for _, typed in branches]
        whens = " ".join(
            f"WHEN {test} THEN {value.sql}" for (test, _), value in zip(branches, values, strict=True)
        )
        return Typed(f"CASE {whens} ELSE {converted(otherwise, type_).sql} END", type_)

    # -- functions --------------------------------------------------------------------------------------

    def _call(self, node: exp.Anonymous, scope: Scope) -> Typed:
        name = str(node.this).strip('"').removeprefix(PREFIX)
        arguments = node.expressions
        if name == "variable":
            return self._variable(str(arguments[0].this))
        if name in ("number_literal", "money_literal", "binary_literal"):
            return literal(name, str(arguments[0].this))
        if name in ("convert", "cast"):
            return self._conversion(arguments, scope)
        if name == "row_number_of":
            return Typed(f"{scope.of_table(str(arguments[0].this)).handle}.rowid", INT, False)
        if name == "identity":
            raise NotSimulatedError("identity columns")
        if name in _AGGREGATES:
            return self._aggregate(name, arguments, scope)
        if name == "coalesce":
            return coalesce([self.expression(argument, scope) for argument in arguments])
        if name == "isnull":
            return self._isnull(arguments, scope)
        if name == "nullif":
            first = self.expression(arguments[0], scope)
            test = self.conditions.compare("=", arguments[0], arguments[1], scope)
            return Typed(f"CASE WHEN {test} THEN NULL ELSE {first.sql} END", first.type)
        typed = [self.expression(argument, scope) for argument in arguments]
        function = FUNCTIONS.get(name)
        if function is None:
            raise refusal("functions", name, SqlError(14216, name))
        return self._function(function, typed)

    def _function(self, function: Function, arguments: Sequence[Typed]) -> Typed:
        if not function.min_arguments <= len(arguments) <= function.max_arguments:
            raise SqlError(174, function.name, function.min_arguments)
        prepared = [self._prepared(function, index, argument) for index, argument in enumerate(arguments)]
        type_ = function.type_of(prepared)
        return Typed(f"{PREFIX}{function.name}({', '.join(argument.sql for argument in prepared)})", type_)

    def _prepared(self, function: Function, index: int, argument: Typed) -> Typed:
        kind = function.kind_of(index)
        if kind == "string":
            return string(argument)
        if kind == "text":
            return converted(argument, varchar(255)) if not is_string(argument) else argument
        if kind == "datetime" and (argument.type is None or argument.type.name not in MOMENTS):
            return converted(argument, Type("datetime"))
        if kind in ("int", "float", "number") and is_string(argument):
            raise SqlError(257, type_name(argument), "INT" if kind == "int" else "FLOAT")
        if kind in ("float", "number") and may_be_text(argument.type):
            return Typed(comparable(argument), argument.type, argument.nullable)
        if kind == "int" and argument.type is not None and argument.type.name not in INTEGERS:
            return converted(argument, INT)
        return argument

    def _variable(self, name: str) -> Typed:
        type_ = self._bindings.type_of(name)
        if name in self._bindings.assigned:
            return Typed(f"current_value('{name}')", type_)
        self._bindings.variables.add(name)
        return Typed(":" + variable_key(name), type_)

    def kept(self, name: str, typed: Typed) -> Typed:
        """`select @v = …`: the variable is set before the next row is evaluated."""
        type_ = self._bindings.type_of(name)
        return Typed(f"keep_value('{name}', {converted(typed, type_).sql})", type_)

    def _conversion(self, arguments: Sequence[exp.Expr], scope: Scope) -> Typed:
        text = str(arguments[0].this)
        target = parse_type(text, default_length=30)
        if target is None:
            raise SqlError(269, text)
        value = self.expression(arguments[1], scope)
        style = self.expression(arguments[2], scope).sql if len(arguments) > 2 else "0"
        return converted(value, target, style=style, explicit=True)

    def _isnull(self, arguments: Sequence[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 2:
            raise SqlError(174, "isnull", 2)
        return coalesce([self.expression(argument, scope) for argument in arguments])

    def _aggregate(self, name: str, arguments: Sequence[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 1:
            raise SqlError(174, name, 1)
        argument, distinct = arguments[0], ""
        count_type = BIGINT if name == "count_big" else INT
        if isinstance(argument, exp.Star):
            return Typed("count(*)", count_type, False)
        if isinstance(argument, exp.Distinct):
            argument, distinct = argument.expressions[0], "DISTINCT "
        value = self.expression(argument, scope)
        if name in ("count", "count_big"):
            return Typed(f"count({distinct}{value.sql})", count_type, False)
        if name in ("min", "max"):
            return Typed(f"{name}({comparable(value)})", value.type)
        if not is_number(value.type) and value.type is not None:
            raise SqlError(257, value.type.name.upper(), "INT")
        type_ = (summed if name == "sum" else averaged)(value.type or INT)
        if type_.name in INTEGERS:
            adding = "sum_exact" if may_be_text(type_) else "sum"
            total = f"fit('{type_.name}', {adding}({distinct}{value.sql}))"
            return Typed(total if name == "sum" else f"({total} / count({distinct}{value.sql}))", type_)
        if name == "sum" and may_be_text(value.type):
            return Typed(f"sum_exact({distinct}{value.sql})", type_)
        return Typed(f"{name}({distinct}{comparable(value)})", type_)


def _has_one_row(node: exp.Expr) -> bool:
    """Whether a subquery returns at most one row: an aggregate without GROUP BY, or no table at all."""
    select = node.this if isinstance(node, exp.Subquery) else node
    if not isinstance(select, exp.Select) or select.args.get("group"):
        return False
    if not (select.args.get("from_") or select.args.get("from")):
        return True
    return any(is_aggregate(part.unalias()) for part in select.expressions)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether an expression is the call of an aggregate."""
    return isinstance(node, exp.Anonymous) and str(node.this).removeprefix(PREFIX) in _AGGREGATES


def variable_key(name: str) -> str:
    """The engine's parameter name for @v and @@v."""
    return name.replace("@", "v_").replace("#", "_h").replace("$", "_d")
