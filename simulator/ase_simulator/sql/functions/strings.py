"""String functions: ASE's, with its trailing blanks, its empty string and its patterns."""

from typing import Any

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function, same, text_like
from ase_simulator.sql.types.patterns import like
from ase_simulator.sql.types.rules import INT, varchar
from ase_simulator.sql.types.values import EngineValue, scaled

function("like", "string", "string", "string", returns=INT, optional=1)(like)


def text_of(value: Any) -> str:
    """A string argument as text."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _kept(text: str) -> str | None:
    """Functions return NULL instead of the empty string."""
    return text or None


@function("substring", "string", "int", "int", returns=same(), strict=True)
def _substring(value: Any, start: Any, length: Any) -> EngineValue:
    if length < 0:
        raise SqlError(536)
    begin = max(start, 1) - 1
    piece = value[begin : max(start - 1 + length, begin)]
    return piece or None


@function("datalength", "any", returns=INT, strict=True)
def _datalength(value: Any) -> EngineValue:
    if isinstance(value, str):
        return len(value.encode("utf-8"))
    return len(value) if isinstance(value, bytes) else 8 if isinstance(value, float) else 4


@function(
    "str",
    "number",
    "int",
    "int",
    returns=lambda args: varchar(
        int(args[1].sql) if len(args) > 1 and args[1].sql.isdigit() else 255 if len(args) > 1 else 10
    ),
    optional=2,
    strict=True,
)
def _str(value: Any, length: Any = 10, places: Any = 0) -> EngineValue:
    text = f"{scaled(value, max(int(places or 0), 0)):f}"
    if len(text) > length and "." in text:
        whole = text.partition(".")[0]
        text = f"{scaled(value, max(length - len(whole) - 1, 0)):f}"
    return text.rjust(length) if len(text) <= length else "*" * length


@function("str_replace", "string", "string", "string", returns=varchar(16384))
def _str_replace(value: Any, old: Any, new: Any) -> EngineValue:
    if value is None or old is None:
        return None
    return _kept(text_of(value).replace(text_of(old), "" if new is None else text_of(new)))


@function("charindex", "string", "string", "int", returns=INT, optional=1, strict=True)
def _charindex(wanted: Any, value: Any, start: Any = 1) -> EngineValue:
    return text_of(value).find(text_of(wanted), max((start or 1) - 1, 0)) + 1


@function("char_length", "string", returns=INT, strict=True)
def _char_length(value: Any) -> EngineValue:
    return len(value if isinstance(value, bytes) else text_of(value))


@function("right", "string", "int", returns=text_like, strict=True)
def _right(value: Any, length: Any) -> EngineValue:
    return _kept(text_of(value)[-length:]) if length > 0 else None


function("upper", "string", returns=same(), strict=True)(lambda s: text_of(s).upper())
function("lower", "string", returns=same(), strict=True)(lambda s: text_of(s).lower())
function("ltrim", "string", returns=text_like, strict=True)(lambda s: _kept(text_of(s).lstrip(" ")))
function("rtrim", "string", returns=text_like, strict=True)(lambda s: _kept(text_of(s).rstrip(" ")))
function("left", "string", "int", returns=text_like, strict=True)(lambda s, n: _kept(text_of(s)[: max(n, 0)]))
function("len", "string", returns=INT, strict=True)(lambda s: len(text_of(s).rstrip(" ")))
function("space", "int", returns=varchar(255), strict=True)(lambda count: _kept(" " * max(count, 0)))
function("char", "int", returns=Type("char", 1), strict=True)(lambda x: chr(x) if 0 <= x <= 255 else None)
