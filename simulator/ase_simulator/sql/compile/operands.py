"""Operands of expressions: literals, conversions, and the rules for mixed types. Typed in, Typed out."""

from collections.abc import Sequence

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.types.rules import (
    BINARIES,
    FLOAT,
    INT,
    INTEGERS,
    MOMENTS,
    STRINGS,
    Typed,
    common,
    is_number,
    may_be_text,
    numeric,
    varchar,
)


def string_literal(text: str) -> Typed:
    """A string literal; the empty one is a single blank in ASE."""
    value = text or " "
    quoted = "'" + value.replace("'", "''").replace("\x00", "") + "'"
    return Typed(quoted, varchar(len(value)), False, value)


def converted(value: Typed, target: Type | None, *, style: str = "0", explicit: bool = False) -> Typed:
    """A value as that type; unchanged SQL if no conversion is needed."""
    if target is None or value.type is None:
        return Typed(value.sql, target or value.type, value.nullable)
    if value.type == target:
        return value
    both = (value.type.name, target.name)
    if not explicit:
        if both[0] in INTEGERS and (both[1] in INTEGERS or both[1] in ("float", "real", "numeric", "money")):
            return Typed(value.sql, target, value.nullable)
        if both[0] in STRINGS and both[1] in ("varchar", "text", "univarchar"):
            return Typed(value.sql, target, value.nullable)
    word = "explicit" if explicit else "implicit"
    sql = f"as_type('{_spec(value.type)}', '{_spec(target)}', {value.sql}, {style}, '{word}')"
    return Typed(sql, target, value.nullable)


def number(typed: Typed, operator: str) -> Typed:
    """An operand of arithmetic; binaries become integers, strings and dates raise SqlError 257 or 403."""
    if typed.type is None or is_number(typed.type):
        return typed
    if typed.type.name in BINARIES:
        return Typed(f"f_hextoint({typed.sql})", INT, typed.nullable)
    if typed.type.name in STRINGS:
        raise SqlError(257, typed.type.name.upper(), "INT")
    names = {"+": "ADD", "-": "SUBTRACT", "*": "MULTIPLY", "/": "DIVIDE", "%": "MODULO"}
    raise SqlError(403, names.get(operator, operator), typed.type.name.upper())


def string(typed: Typed) -> Typed:
    """An argument that must be a string; dates are converted, numbers raise SqlError 257."""
    if typed.type is None or typed.type.name in STRINGS | BINARIES:
        return typed
    if typed.type.name in MOMENTS:
        return converted(typed, varchar(30))
    raise SqlError(257, typed.type.name.upper(), "VARCHAR")


def common_type(left: Type | None, right: Type | None) -> Type | None:
    """The common type of two operands; raises SqlError 257 for a string and a number."""
    if left is not None and right is not None:
        for one, other in ((left, right), (right, left)):
            if one.name in STRINGS and is_number(other):
                raise SqlError(257, one.name.upper(), other.name.upper())
    return common(left, right)


def coalesce(arguments: Sequence[Typed]) -> Typed:
    type_: Type | None = None
    for argument in arguments:
        type_ = common_type(type_, argument.type)
    texts = [converted(argument, type_).sql for argument in arguments]
    if len(texts) == 1:
        return Typed(texts[0], type_)
    return Typed(f"coalesce({', '.join(texts)})", type_, arguments[-1].nullable)


def concatenation(left: Typed, right: Typed) -> Typed:
    for side in (left, right):
        if is_number(side.type):
            raise SqlError(257, "VARCHAR", type_name(side))
        if side.type is not None and side.type.name not in STRINGS | BINARIES:
            raise SqlError(257, side.type.name.upper(), "VARCHAR")
    length = (left.type.length if left.type else 0) + (right.type.length if right.type else 0)
    wide = any(side.type and side.type.name in ("unichar", "univarchar") for side in (left, right))
    type_ = Type("univarchar", max(length, 1)) if wide else varchar(length)
    return Typed(f"(ifnull({left.sql}, '') || ifnull({right.sql}, ''))", type_)


def literal(name: str, text: str) -> Typed:
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
        return Typed(str(value) if value < 2**63 else f"'{value}'", type_, False)
    whole, _, places = text.partition(".")
    precision = max(len(whole.lstrip("0")) + len(places), 1)
    number = f"{whole or 0}.{places or 0}"
    long = precision > len(str(2**50)) - 1
    return Typed(f"'{number}'" if long else number, numeric(precision, len(places)), False)


def comparable(typed: Typed) -> str:
    """SQL of a number that compares, sorts and calculates as a number, even if the engine holds it as text."""
    return f"({typed.sql} + 0)" if may_be_text(typed.type) else typed.sql


def is_string(typed: Typed) -> bool:
    """Whether it is a string of any kind."""
    return typed.type is not None and typed.type.name in STRINGS


def type_name(typed: Typed) -> str:
    return typed.type.name.upper() if typed.type else "VOID"


def _spec(type_: Type) -> str:
    return f"{type_.name}|{type_.length}|{type_.precision}|{type_.scale}"
