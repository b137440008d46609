"""String functions: ASE's, with its trailing blanks, its empty string and its patterns."""

from typing import Any

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function, same
from ase_simulator.sql.types.patterns import like, pattern_regex
from ase_simulator.sql.types.rules import INT, display_length, varchar
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


@function("patindex", "string", "string", returns=INT, strict=True)
def _patindex(pattern: Any, value: Any) -> EngineValue:
    pattern = str(pattern)
    anchored = not pattern.startswith("%")
    core = pattern.lstrip("%")
    for start in range(1 if anchored else len(text_of(value)) + 1):
        if pattern_regex(core).fullmatch(text_of(value)[start:]):
            return start + 1
    return 0


@function(
    "replicate",
    "string",
    "int",
    returns=lambda args: varchar(16384 if not args[0].text else 255),
    strict=True,
)
def _replicate(value: Any, times: Any) -> EngineValue:
    return _kept((text_of(value) * max(times, 0))[:16384])


@function(
    "stuff",
    "string",
    "int",
    "int",
    "string",
    returns=lambda args: varchar(sum(display_length(a.type) for a in (args[0], args[3]) if a.type)),
)
def _stuff(value: Any, start: Any, length: Any, put: Any) -> EngineValue:
    if value is None or start is None or length is None or start < 1 or length < 0 or start > len(value):
        return None
    return _kept(value[: start - 1] + (put or "") + value[start - 1 + length :])


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


@function("soundex", "string", returns=Type("char", 4))
def soundex(value: Any) -> EngineValue:
    """The first letter and three digits that sound alike."""
    if not value:
        return None
    codes = {
        c: d
        for d, cs in {"1": "BFPV", "2": "CGJKQSXZ", "3": "DT", "4": "L", "5": "MN", "6": "R"}.items()
        for c in cs
    }
    letters = [c for c in text_of(value).upper() if c.isalpha()]
    if not letters:
        return "0000"
    out, last = letters[0], codes.get(letters[0], "")
    for letter in letters[1:]:
        code = codes.get(letter, "")
        if code and code != last:
            out += code
        if letter not in "HW":
            last = code
    return out[:4].ljust(4, "0")


@function("strtobin", "string", returns=Type("varbinary", 255), strict=True)
def _strtobin(value: Any) -> EngineValue:
    try:
        return bytes.fromhex(str(value).strip())
    except ValueError:
        raise SqlError(249, "explicit", "VARCHAR", value, "VARBINARY") from None
