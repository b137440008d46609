"""Expressions and conditions: compiled to the engine's SQL with ASE's types and ASE's meaning."""

from collections.abc import Sequence

from sqlglot import exp

from ase_simulator.results import Type
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.conditions import Conditions, is_string, spelling
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.arithmetic import SPREADS
from ase_simulator.sql.functions.registry import Function
from ase_simulator.sql.grammar import PREFIX
from ase_simulator.sql.scope import Scope
from ase_simulator.sql.types import (
    BIGINT,
    BINARIES,
    FLOAT,
    INT,
    INTEGERS,
    MOMENTS,
    STRINGS,
    Typed,
    arithmetic,
    averaged,
    common,
    is_number,
    numeric,
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
_AGGREGATES = frozenset({"count", "count_big", "sum", "avg", "min", "max", *SPREADS})


class Expressions(Conditions):
    """The part of the compiler below the clauses."""

    def expression(self, node: exp.Expr, scope: Scope) -> Typed:
        """One expression with its type."""
        if isinstance(node, exp.Paren):
            inner = self.expression(node.this, scope)
            return Typed(f"({inner.sql})", inner.type, inner.nullable, inner.text)
        if isinstance(node, exp.Literal):
            if node.is_string:
                return self.string_literal(str(node.this))
            return Typed(str(node.this), INT, False)
        if isinstance(node, exp.Null):
            return Typed("NULL", None)
        if isinstance(node, exp.Column):
            source, index = scope.resolve(node.name, self._prefix(node))
            return Typed(*source.column(index))
        if type(node) in _ARITHMETIC:
            return self._operation(_ARITHMETIC[type(node)], node, scope)
        if isinstance(node, exp.Neg):
            inner = self.expression(node.this, scope)
            if not is_number(inner.type):
                raise SqlError(403, "MINUS", _type_name(inner))
            return Typed(f"(- {inner.sql})", inner.type, inner.nullable)
        if isinstance(node, exp.BitwiseNot):
            inner = self.expression(node.this, scope)
            return Typed(f"(~ {inner.sql})", inner.type, inner.nullable)
        if isinstance(node, exp.Case):
            return self._case(node, scope)
        if isinstance(node, exp.Subquery | exp.Select):
            output = self.select(node.this if isinstance(node, exp.Subquery) else node, scope)
            if len(output.items) != 1:
                raise SqlError(116 if len(output.items) > 1 else 102)
            if _has_one_row(node):
                return Typed(f"({output.sql})", output.items[0][1].type)
            return Typed(f"(SELECT only_value(c0) FROM ({output.sql}))", output.items[0][1].type)
        if isinstance(node, exp.Anonymous):
            return self._call(node, scope)
        raise SqlError(102, spelling(node))

    @staticmethod
    def string_literal(text: str) -> Typed:
        """A string; the empty one is a single blank, as ever in ASE."""
        value = text or " "
        quoted = "'" + value.replace("'", "''").replace("\x00", "") + "'"
        return Typed(quoted, varchar(len(value)), False, value)

    @staticmethod
    def _prefix(node: exp.Column) -> str:
        return node.table

    def _operation(self, operator: str, node: exp.Expr, scope: Scope) -> Typed:
        left, right = self.expression(node.this, scope), self.expression(node.expression, scope)
        nullable = left.nullable or right.nullable
        if operator == "||" or (operator == "+" and (is_string(left) or is_string(right))):
            return self._concatenation(operator, left, right)
        left, right = self.number(left, operator), self.number(right, operator)
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
        if type_.name in INTEGERS:
            sql = f"fit('{type_.name}', {sql})"
        return Typed(sql, type_, nullable)

    def number(self, typed: Typed, operator: str) -> Typed:
        """An operand of arithmetic; binaries become integers, moments and strings are refused."""
        if typed.type is None or is_number(typed.type):
            return typed
        if typed.type.name in BINARIES:
            return Typed(f"f_hextoint({typed.sql})", INT, typed.nullable)
        if typed.type.name in STRINGS:
            raise SqlError(257, typed.type.name.upper(), "INT")
        names = {"+": "ADD", "-": "SUBTRACT", "*": "MULTIPLY", "/": "DIVIDE", "%": "MODULO"}
        raise SqlError(403, names.get(operator, operator), typed.type.name.upper())

    def _concatenation(self, operator: str, left: Typed, right: Typed) -> Typed:
        for side in (left, right):
            if is_number(side.type):
                raise SqlError(257, "VARCHAR", _type_name(side))
            if side.type is not None and side.type.name not in STRINGS | BINARIES:
                raise SqlError(257, side.type.name.upper(), "VARCHAR")
        length = (left.type.length if left.type else 0) + (right.type.length if right.type else 0)
        wide = any(side.type and side.type.name in ("unichar", "univarchar") for side in (left, right))
        type_ = Type("univarchar", max(length, 1)) if wide else varchar(length)
        return Typed(f"(ifnull({left.sql}, '') || ifnull({right.sql}, ''))", type_)

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        branches: list[tuple[str, Typed]] = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                test = self.compare("=", node.this, branch.this, scope)
            else:
                test = self.condition(branch.this, scope)
            branches.append((test, self.expression(branch.args["true"], scope)))
        default = node.args.get("default")
        otherwise = self.expression(default, scope) if default is not None else Typed("NULL", None)
        type_ = otherwise.type
        for _, typed in branches:
            type_ = self.common_type(type_, typed.type)
        values = [self.converted(typed, type_) for _, typed in branches]
        whens = " ".join(
            f"WHEN {test} THEN {value.sql}" for (test, _), value in zip(branches, values, strict=True)
        )
        return Typed(f"CASE {whens} ELSE {self.converted(otherwise, type_).sql} END", type_)

    @staticmethod
    def common_type(left: Type | None, right: Type | None) -> Type | None:
        """The type that both sides become; raises SqlError 257 for a string beside a number."""
        if left is not None and right is not None:
            for one, other in ((left, right), (right, left)):
                if one.name in STRINGS and is_number(other):
                    raise SqlError(257, one.name.upper(), other.name.upper())
        return common(left, right)

    # -- functions --------------------------------------------------------------------------------------

    def _call(self, node: exp.Anonymous, scope: Scope) -> Typed:
        name = str(node.this).removeprefix(PREFIX)
        arguments = node.expressions
        if name == "variable":
            return self._variable(str(arguments[0].this))
        if name == "mark":
            number = int(arguments[0].this)
            return Typed(f":mark{number}", self.marks.setdefault(number, self.names.mark_type(number)))
        if name in ("number_literal", "money_literal", "binary_literal"):
            return _literal(name, str(arguments[0].this))
        if name in ("convert", "cast"):
            return self._conversion(arguments, scope)
        if name == "row_number_of":
            return Typed(f"{scope.of_table(str(arguments[0].this)).handle}.rowid", INT, False)
        if name == "identity":
            return Typed("row_number() OVER ()", numeric(int(arguments[0].name), 0), False)
        if name in _AGGREGATES:
            return self._aggregate(name, arguments, scope)
        if name == "coalesce":
            return self._coalesce([self.expression(argument, scope) for argument in arguments])
        if name == "isnull":
            return self._isnull(arguments, scope)
        if name == "nullif":
            first = self.expression(arguments[0], scope)
            test = self.compare("=", arguments[0], arguments[1], scope)
            return Typed(f"CASE WHEN {test} THEN NULL ELSE {first.sql} END", first.type)
        function = FUNCTIONS.get(name)
        if function is None:
            raise SqlError(14216, name)
        return self._function(function, [self.expression(argument, scope) for argument in arguments])

    def _function(self, function: Function, arguments: Sequence[Typed]) -> Typed:
        if not function.least <= len(arguments) <= function.most:
            raise SqlError(174, function.name, function.least)
        prepared = [self._prepared(function, index, argument) for index, argument in enumerate(arguments)]
        type_ = function.type_of(prepared)
        return Typed(f"{PREFIX}{function.name}({', '.join(argument.sql for argument in prepared)})", type_)

    def _prepared(self, function: Function, index: int, argument: Typed) -> Typed:
        kind = function.kind_of(index)
        if kind == "string":
            return self.string(argument)
        if kind == "text":
            return self.converted(argument, varchar(255)) if not is_string(argument) else argument
        if kind == "datetime" and (argument.type is None or argument.type.name not in MOMENTS):
            return self.converted(argument, Type("datetime"))
        if kind in ("int", "float", "number") and is_string(argument):
            raise SqlError(257, _type_name(argument), "INT" if kind == "int" else "FLOAT")
        if kind == "int" and argument.type is not None and argument.type.name not in INTEGERS:
            return self.converted(argument, INT)
        return argument

    def string(self, typed: Typed) -> Typed:
        """An argument that must be a string; dates become one, numbers are refused."""
        if typed.type is None or typed.type.name in STRINGS | BINARIES:
            return typed
        if typed.type.name in MOMENTS:
            return self.converted(typed, varchar(30))
        raise SqlError(257, typed.type.name.upper(), "VARCHAR")

    def _variable(self, name: str) -> Typed:
        type_ = self.names.variable_type(name)
        if name in self.assigned:
            return Typed(f"current_value('{name}')", type_)
        self.variables.add(name)
        return Typed(":" + variable_key(name), type_)

    def kept(self, name: str, typed: Typed) -> Typed:
        """`select @v = …`: the variable has the value before the next row is looked at."""
        type_ = self.names.variable_type(name)
        return Typed(f"keep_value('{name}', {self.converted(typed, type_).sql})", type_)

    def _conversion(self, arguments: Sequence[exp.Expr], scope: Scope) -> Typed:
        text = str(arguments[0].this)
        target = parse_type(text, default_length=30)
        if target is None:
            raise SqlError(269, text)
        value = self.expression(arguments[1], scope)
        style = self.expression(arguments[2], scope).sql if len(arguments) > 2 else "0"
        return self.converted(value, target, style=style, explicit=True)

    def converted(
        self, value: Typed, target: Type | None, *, style: str = "0", explicit: bool = False
    ) -> Typed:
        """A value as that type; the same text where nothing has to be done."""
        if target is None or value.type is None:
            return Typed(value.sql, target or value.type, value.nullable)
        if value.type == target:
            return value
        both = (value.type.name, target.name)
        if not explicit:
            if both[0] in INTEGERS and (
                both[1] in INTEGERS or both[1] in ("float", "real", "numeric", "money")
            ):
                return Typed(value.sql, target, value.nullable)
            if both[0] in STRINGS and both[1] in ("varchar", "text", "univarchar"):
                return Typed(value.sql, target, value.nullable)
        word = "explicit" if explicit else "implicit"
        sql = f"as_type('{_spec(value.type)}', '{_spec(target)}', {value.sql}, {style}, '{word}')"
        return Typed(sql, target, value.nullable)

    def _isnull(self, arguments: Sequence[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 2:
            raise SqlError(174, "isnull", 2)
        return self._coalesce([self.expression(argument, scope) for argument in arguments])

    def _coalesce(self, arguments: Sequence[Typed]) -> Typed:
        type_: Type | None = None
        for argument in arguments:
            type_ = self.common_type(type_, argument.type)
        texts = [self.converted(argument, type_).sql for argument in arguments]
        if len(texts) == 1:
            return Typed(texts[0], type_)
        return Typed(f"coalesce({', '.join(texts)})", type_, arguments[-1].nullable)

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
            return Typed(f"{name}({value.sql})", value.type)
        if not is_number(value.type) and value.type is not None:
            raise SqlError(257, value.type.name.upper(), "INT")
        if name in SPREADS:
            return Typed(f"f_{name}({distinct}{value.sql})", FLOAT)
        type_ = (summed if name == "sum" else averaged)(value.type or INT)
        if type_.name in INTEGERS:
            total = f"fit('{type_.name}', sum({distinct}{value.sql}))"
            return Typed(total if name == "sum" else f"({total} / count({distinct}{value.sql}))", type_)
        return Typed(f"{name}({distinct}{value.sql})", type_)


def _has_one_row(node: exp.Expr) -> bool:
    """Whether a subquery cannot give more than one row: an aggregate of all its rows, or no table at all."""
    select = node.this if isinstance(node, exp.Subquery) else node
    if not isinstance(select, exp.Select) or select.args.get("group"):
        return False
    if not (select.args.get("from_") or select.args.get("from")):
        return True
    return any(
        isinstance(item, exp.Anonymous) and str(item.this).removeprefix(PREFIX) in _AGGREGATES
        for item in (part.unalias() for part in select.expressions)
    )


def variable_key(name: str) -> str:
    """The engine's parameter name for @v and @@v."""
    return name.replace("@", "v_").replace("#", "_h").replace("$", "_d")


def _literal(name: str, text: str) -> Typed:
    if name == "binary_literal":
        digits = text[2:]
        digits = "0" + digits if len(digits) % 2 else digits
        return Typed(f"x'{digits}'", Type("varbinary", max(1, len(digits) // 2)), False)
    if name == "money_literal":
        return Typed(text or "0", Type("money"), False)
    if "e" in text.lower():
        return Typed(text, FLOAT, False)
    if "." not in text:
        value = int(text)
        type_ = INT if value < 2**31 else numeric(len(str(value)), 0)
        return Typed(str(value), type_, False)
    whole, _, places = text.partition(".")
    precision = max(len(whole.lstrip("0")) + len(places), 1)
    return Typed(f"{whole or 0}.{places or 0}", numeric(precision, len(places)), False)


def _type_name(typed: Typed) -> str:
    return typed.type.name.upper() if typed.type else "VOID"


def _spec(type_: Type) -> str:
    return f"{type_.name}|{type_.length}|{type_.precision}|{type_.scale}"
