"""ASE's type rules: the types of expressions."""

from dataclasses import dataclass

from ase_simulator.results import Type, TypeName
from ase_simulator.schema.types import TYPES

INT = Type("int")
BIGINT = Type("bigint")
SMALLINT = Type("smallint")
FLOAT = Type("float")
DATETIME = Type("datetime")
BIT = Type("bit")

_RANK: dict[TypeName, int] = {row["name"]: int(row["rank"]) for row in TYPES if row["rank"]}
_DIGITS: dict[TypeName, int] = {row["name"]: int(row["digits"]) for row in TYPES if row["digits"]}
RANGES: dict[TypeName, tuple[int, int]] = {
    row["name"]: (int(row["low"]), int(row["high"])) for row in TYPES if row["low"]
}
STRINGS = frozenset({"char", "varchar", "nchar", "nvarchar", "unichar", "univarchar", "text", "unitext"})
BINARIES = frozenset({"binary", "varbinary", "image"})
MOMENTS = frozenset({"datetime", "smalldatetime", "date", "time", "bigdatetime", "bigtime"})
INTEGERS = frozenset(RANGES)
MAX_VARCHAR = 16384
_KEPT_PLACES = 6
_DIGITS_OF_A_REAL = 15


@dataclass(frozen=True, slots=True)
class Typed:
    """A compiled expression. type: None for a bare NULL; text: a string literal's value."""

    sql: str
    type: Type | None
    nullable: bool = True
    text: str | None = None


def varchar(length: int) -> Type:
    """varchar of that length, within what ASE allows."""
    return Type("varchar", max(1, min(length, MAX_VARCHAR)))


def numeric(precision: int, scale: int) -> Type:
    """numeric within 38 digits: the scale is reduced first, down to six places."""
    if precision > 38:
        scale = max(min(scale, _KEPT_PLACES), scale - (precision - 38))
        precision = 38
    return Type("numeric", 0, precision, scale)


def is_number(type_: Type | None) -> bool:
    return type_ is not None and type_.name in _RANK


def may_be_text(type_: Type | None) -> bool:
    """Whether the engine may hold a number of this type as decimal text, to keep all its digits."""
    return type_ is not None and (
        type_.name in ("money", "smallmoney", "unsigned bigint")
        or (type_.name in ("numeric", "decimal") and type_.precision > _DIGITS_OF_A_REAL)
    )


def digits(type_: Type) -> tuple[int, int]:
    """Precision and scale that a number of this type can have."""
    if type_.name in ("numeric", "decimal"):
        return type_.precision, type_.scale
    return _DIGITS.get(type_.name, 19), 0


def display_length(type_: Type) -> int:
    """Characters that a value takes when it becomes a string."""
    if type_.name in STRINGS:
        return type_.length or 255
    if type_.name in BINARIES:
        return 2 * type_.length
    if type_.name in MOMENTS:
        return 30
    if type_.name in ("numeric", "decimal"):
        return type_.precision + 2
    return {"real": 25, "float": 25, "money": 24, "smallmoney": 12, "bit": 1}.get(
        type_.name, _DIGITS.get(type_.name, 20) + 1
    )


def arithmetic(operator: str, left: Type, right: Type) -> Type:
    """The type of `left operator right` for two numbers."""
    upper = left if _RANK[left.name] >= _RANK[right.name] else right
    if upper.name == "bit":
        return INT
    if upper.name not in ("numeric", "decimal"):
        return upper
    (p1, s1), (p2, s2) = digits(left), digits(right)
    if operator == "*":
        return numeric(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(s1 + p2 - s2 + 1, 6)
        return numeric(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return numeric(max(p1 - s1, p2 - s2) + scale + 1, scale)


def common(left: Type | None, right: Type | None) -> Type | None:
    """The common type in CASE, COALESCE, ISNULL, UNION; None if both are bare NULLs."""
    if left is None or right is None or left == right:
        return left or right
    if left.name in _RANK and right.name in _RANK:
        if {"numeric", "decimal"} & {left.name, right.name} and max(
            _RANK[left.name], _RANK[right.name]
        ) <= 10:
            (p1, s1), (p2, s2) = digits(left), digits(right)
            scale = max(s1, s2)
            return numeric(max(p1 - s1, p2 - s2) + scale, scale)
        return left if _RANK[left.name] >= _RANK[right.name] else right
    if left.name in STRINGS and right.name in STRINGS:
        if "text" in (left.name, right.name):
            return Type("text")
        wide = {"unichar", "univarchar"} & {left.name, right.name}
        return Type("univarchar" if wide else "varchar", max(left.length, right.length))
    if left.name in MOMENTS:
        if right.name in MOMENTS and right.name.startswith("big"):
            return right
        return left
    if right.name in MOMENTS:
        return right
    if left.name in BINARIES and right.name in BINARIES:
        return Type("varbinary", max(left.length, right.length))
    return left if left.name in _RANK or left.name in STRINGS else right


def summed(type_: Type) -> Type:
    """sum(): integers keep their type, at least int; numeric gets all digits there are."""
    if type_.name in ("bit", "tinyint", "unsigned tinyint", "smallint"):
        return INT
    if type_.name == "unsigned smallint":
        return Type("unsigned int")
    if type_.name in ("numeric", "decimal"):
        return Type("numeric", 0, 38, type_.scale)
    return {"real": FLOAT, "smallmoney": Type("money")}.get(type_.name, type_)


def averaged(type_: Type) -> Type:
    """avg(): as sum(), numeric with six more places."""
    if type_.name in ("numeric", "decimal"):
        return numeric(38, max(6, type_.scale))
    return summed(type_)
