"""String functions: ASE's, with its trailing blanks, its empty string and its patterns."""

from typing import Any

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function, same, text_like
from ase_simulator.sql.types.patterns import like, pattern_regex
from ase_simulator.sql.types.rules import INT, TINYINT, display_length, varchar
from ase_simulator.sql.types.values import EngineValue, scaled

function("like", "string", "string", "string", returns=INT, optional=1)(like)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _kept(text: str) -> str | None:
    """Functions return NULL instead of the empty string."""
    return text or None


@function("upper", "string", returns=same())
def _upper(value: Any) -> EngineValue:
    return None if value is None else _text(value).upper()


@function("lower", "string", returns=same())
def _lower(value: Any) -> EngineValue:
    return None if value is None else _text(value).lower()


@function("ltrim", "string", returns=text_like())
def _ltrim(value: Any) -> EngineValue:
    return None if value is None else _kept(_text(value).lstrip(" "))


@function("rtrim", "string", returns=text_like())
def _rtrim(value: Any) -> EngineValue:
    return None if value is None else _kept(_text(value).rstrip(" "))


@function("trim", "string", returns=text_like())
def _trim(value: Any) -> EngineValue:
    return None if value is None else _kept(_text(value).strip(" "))


@function("substring", "string", "int", "int", returns=same())
def _substring(value: Any, start: Any, length: Any) -> EngineValue:
    if value is None or start is None or length is None:
        return None
    if length < 0:
        raise SqlError(536)
    begin = max(start, 1) - 1
    piece = value[begin : max(start - 1 + length, begin)]
    return piece or None


@function("left", "string", "int", returns=text_like())
def _left(value: Any, length: Any) -> EngineValue:
    return None if value is None or length is None else _kept(_text(value)[: max(length, 0)])


@function("right", "string", "int", returns=text_like())
def _right(value: Any, length: Any) -> EngineValue:
    if value is None or length is None or length <= 0:
        return None
    return _kept(_text(value)[-length:])


def _length(value: Any) -> EngineValue:
    return None if value is None else len(value if isinstance(value, bytes) else _text(value))


function("char_length", "string", returns=INT)(_length)


@function("len", "string", returns=INT)
def _len(value: Any) -> EngineValue:
    return None if value is None else len(_text(value).rstrip(" "))


@function("datalength", "any", returns=INT)
def _datalength(value: Any) -> EngineValue:
    if value is None:
        return None
    if isinstance(value, str):
        return len(value.encode("utf-8"))
    return len(value) if isinstance(value, bytes) else 8 if isinstance(value, float) else 4


@function("charindex", "string", "string", "int", returns=INT, optional=1)
def _charindex(wanted: Any, value: Any, start: Any = 1) -> EngineValue:
    if wanted is None or value is None:
        return None
    return _text(value).find(_text(wanted), max((start or 1) - 1, 0)) + 1


@function("patindex", "string", "string", returns=INT)
def _patindex(pattern: Any, value: Any) -> EngineValue:
    if pattern is None or value is None:
        return None
    pattern = str(pattern)
    anchored = not pattern.startswith("%")
    core = pattern.lstrip("%")
    for start in range(1 if anchored else len(_text(value)) + 1):
        if pattern_regex(core).fullmatch(_text(value)[start:]):
            return start + 1
    return 0


@function("replicate", "string", "int", returns=lambda args: varchar(16384 if not args[0].text else 255))
def _replicate(value: Any, times: Any) -> EngineValue:
    return None if value is None or times is None else _kept((_text(value) * max(times, 0))[:16384])


@function("space", "int", returns=varchar(255))
def _space(count: Any) -> EngineValue:
    return None if count is None else _kept(" " * max(count, 0))


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


@function("str_replace", "string", "string", "string", returns=varchar(16384))
def _str_replace(value: Any, old: Any, new: Any) -> EngineValue:
    if value is None or old is None:
        return None
    return _kept(_text(value).replace(_text(old), _text(new) if new is not None else ""))


@function("reverse", "string", returns=same())
def _reverse(value: Any) -> EngineValue:
    return None if value is None else value[::-1]


@function("ascii", "string", returns=INT)
def _ascii(value: Any) -> EngineValue:
    return None if not value else ord(_text(value)[0])


@function("char", "int", returns=Type("char", 1))
def _char(value: Any) -> EngineValue:
    return chr(value) if value is not None and 0 <= value <= 255 else None


@function("uhighsurr", "string", "int", returns=INT)
def _uhighsurr(value: Any, at: Any) -> EngineValue:
    return 0


@function(
    "str",
    "number",
    "int",
    "int",
    returns=lambda args: varchar(
        int(args[1].sql) if len(args) > 1 and args[1].sql.isdigit() else 255 if len(args) > 1 else 10
    ),
    optional=2,
)
def _str(value: Any, length: Any = 10, places: Any = 0) -> EngineValue:
    if value is None:
        return None
    text = f"{scaled(value, max(int(places or 0), 0)):f}"
    if len(text) > length and "." in text:
        whole = text.partition(".")[0]
        text = f"{scaled(value, max(length - len(whole) - 1, 0)):f}"
    return text.rjust(length) if len(text) <= length else "*" * length


@function("soundex", "string", returns=Type("char", 4))
def _soundex(value: Any) -> EngineValue:
    if not value:
        return None
    codes = {
        c: d
        for d, cs in {"1": "BFPV", "2": "CGJKQSXZ", "3": "DT", "4": "L", "5": "MN", "6": "R"}.items()
        for c in cs
    }
    letters = [c for c in _text(value).upper() if c.isalpha()]
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


@function("difference", "string", "string", returns=INT)
def _difference(left: Any, right: Any) -> EngineValue:
    if left is None or right is None:
        return None
    return sum(a == b for a, b in zip(str(_soundex(left)), str(_soundex(right)), strict=False))


@function("compare", "string", "string", "any", returns=INT, optional=1)
def _compare(left: Any, right: Any, _order: Any = None) -> EngineValue:
    if left is None or right is None:
        return None
    return int(left > right) - int(left < right)


@function("to_unichar", "int", returns=Type("unichar", 1))
def _to_unichar(value: Any) -> EngineValue:
    return None if value is None else chr(value)


@function("uscalar", "string", returns=INT)
def _uscalar(value: Any) -> EngineValue:
    return None if not value else ord(value[0])


@function("bintostr", "binary", returns=varchar(510))
def _bintostr(value: Any) -> EngineValue:
    return None if value is None else bytes(value).hex().upper()


@function("strtobin", "string", returns=Type("varbinary", 255))
def _strtobin(value: Any) -> EngineValue:
    try:
        return None if value is None else bytes.fromhex(str(value).strip())
    except ValueError:
        raise SqlError(249, "explicit", "VARCHAR", value, "VARBINARY") from None


@function("is_quiesced", "int", returns=TINYINT)
def _is_quiesced(_database: Any) -> EngineValue:
    return 0
