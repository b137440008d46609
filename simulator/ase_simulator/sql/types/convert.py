"""convert() and cast() between all types, with ASE's styles and errors."""

import re
from contextlib import suppress
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache
from importlib.resources import files

from ase_simulator.results import Type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.types.rules import BINARIES, INTEGERS, MOMENTS, RANGES, STRINGS
from ase_simulator.sql.types.values import (
    DAY,
    EPOCH,
    WIDE,
    EngineValue,
    bounded,
    exact,
    microseconds,
    moment_of,
    scaled,
    tick,
)


def _styles() -> dict[int, str]:
    """The pattern of each style."""
    lines = files(__package__).joinpath("styles.csv").read_text(encoding="utf-8").splitlines()
    parts = (line.partition(";") for line in lines if not line.startswith("#"))
    return {int(number): pattern for number, _, pattern in parts}


_STYLES = _styles()
_STYLES[100], _STYLES[109] = _STYLES[0], _STYLES[9]


@cache
def _type(spec: str) -> Type:
    name, length, precision, scale = spec.split("|")
    return Type(name, int(length), int(precision), int(scale))  # type: ignore[arg-type]


MONEY_RANGES = {
    "money": (Decimal("-922337203685477.5808"), Decimal("922337203685477.5807")),
    "smallmoney": (Decimal("-214748.3648"), Decimal("214748.3647")),
}


def as_type(source: str, target: str, value: EngineValue, style: EngineValue, how: str) -> EngineValue:
    """One value from one type to another; how: explicit or implicit. Raises SqlError 247, 249, 257, 529."""
    if value is None:
        return None
    return convert(_type(source), _type(target), value, int(style or 0), how)


def convert(
    source: Type, target: Type, value: EngineValue, style: int = 0, how: str = "explicit"
) -> EngineValue:
    """One value (not NULL) from one type to another."""
    name = target.name
    if name in STRINGS:
        return _to_string(source, target, value, style, how)
    if name in BINARIES:
        return _to_binary(source, target, value)
    if name in MOMENTS:
        return _to_moment(source, target, value, how)
    return _to_number(source, target, value, how)


# -- to strings -----------------------------------------------------------------------------------------


def _to_string(source: Type, target: Type, value: EngineValue, style: int, how: str) -> str:
    text = text_of(source, value, style)
    limit = target.length or len(text)
    if len(text) > limit:
        if source.name in INTEGERS or source.name in ("numeric", "decimal", "money", "real", "float"):
            raise SqlError(247, how, source.name.upper(), text, target.name.upper())
        text = text[:limit]
    return text.ljust(limit) if target.name in ("char", "nchar", "unichar") else text


def text_of(source: Type, value: EngineValue, style: int = 0) -> str:
    """A value as ASE writes it."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if source.name in STRINGS:
        return str(value)
    if source.name in ("numeric", "decimal"):
        return f"{scaled(value, source.scale):f}"
    if source.name in ("money", "smallmoney"):
        if style == 1:
            return f"{scaled(value, 2):,f}"
        return f"{scaled(value, 4 if style == 2 else 2):f}"
    if source.name in ("real", "float"):
        return _real(float(value or 0))
    if source.name in MOMENTS:
        return _moment_text(source, int(value or 0), style)
    return str(value)


def _real(value: float) -> str:
    text = repr(value)
    return text if "e" in text or "." in text else text + ".0"


def _moment_text(source: Type, value: int, style: int) -> str:
    moment = moment_of(tick(value) if source.name == "datetime" else value)
    if style == 0 and source.name == "date":
        return moment.strftime("%b ") + f"{moment.day:2d} {moment.year}"
    if style == 0 and source.name in ("time", "bigtime"):
        return _styled(moment, _STYLES[117])
    if style not in _STYLES:
        raise SqlError(247, "explicit", "INT", style, "STYLE")
    return _styled(moment, _STYLES[style])


def _styled(moment: datetime, pattern: str) -> str:
    pattern = pattern.replace("%q", f"{moment.day:2d}").replace("%h", f"{(moment.hour + 11) % 12 + 1:2d}")
    pattern = pattern.replace("%f", f"{moment.microsecond // 1000:03d}").replace(
        "%u", f"{moment.microsecond:06d}"
    )
    return moment.strftime(pattern.replace("%Y", f"{moment.year:04d}"))


# -- to numbers -----------------------------------------------------------------------------------------


def _to_number(source: Type, target: Type, value: EngineValue, how: str) -> EngineValue:
    number = _decimal(source, target, value, how)
    if target.name in INTEGERS:
        if target.name == "bit":
            return int(number != 0)
        whole = int(number)
        low, high = RANGES[target.name]
        if not low <= whole <= high:
            raise _refused(247, source, target, value, how)
        return bounded(whole)
    if target.name in ("real", "float"):
        return float(number)
    if target.name in ("money", "smallmoney"):
        money = number.quantize(Decimal("0.0001"), ROUND_HALF_UP, WIDE)
        min_money, max_money = MONEY_RANGES[target.name]
        if not min_money <= money <= max_money:
            raise _refused(247, source, target, value, how)
        return float(money) if Decimal(repr(float(money))) == money else f"{money:f}"
    step = Decimal(1).scaleb(-target.scale)
    cut = source.name in ("numeric", "decimal")
    fitted = number.quantize(step, "ROUND_DOWN" if cut else ROUND_HALF_UP, WIDE)
    if len(str(abs(int(fitted)))) > target.precision - target.scale and int(fitted):
        raise _refused(247, source, target, value, how)
    if cut and how == "implicit" and fitted != number.quantize(Decimal(1).scaleb(-source.scale), None, WIDE):
        raise SqlError(241, source.name.upper(), text_of(source, value), target.name.upper())
    held = exact(fitted)
    if target.scale and isinstance(held, int):
        return float(held) if abs(held) < 2**53 else f"{fitted:f}"
    return held


def _decimal(source: Type, target: Type, value: EngineValue, how: str) -> Decimal:
    if isinstance(value, int):
        if source.name in MOMENTS:
            raise SqlError(257 if how == "implicit" else 529, source.name.upper(), target.name.upper())
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, bytes):
        return Decimal(int.from_bytes(value[-8:], "big"))
    text = str(value).strip()
    if target.name in ("money", "smallmoney"):
        text = text.lstrip("$").replace(",", "")
    try:
        if target.name in INTEGERS and text:
            return Decimal(int(text))
        return Decimal(text or "0")
    except (ValueError, InvalidOperation):
        raise SqlError(249, how, source.name.upper(), str(value), target.name.upper()) from None


def _refused(number: int, source: Type, target: Type, value: EngineValue, how: str) -> SqlError:
    return SqlError(number, how, source.name.upper(), text_of(source, value), target.name.upper())


# -- to dates and times ---------------------------------------------------------------------------------


def _to_moment(source: Type, target: Type, value: EngineValue, how: str) -> int:
    if isinstance(value, str):
        found = parse_moment(value)
        if found is None:
            raise SqlError(249, how, source.name.upper(), value, target.name.upper())
    elif isinstance(value, int) and source.name in MOMENTS:
        found = value
    else:
        raise SqlError(257 if how == "implicit" else 529, source.name.upper(), target.name.upper())
    if target.name == "date":
        return found // DAY * DAY
    if target.name in ("time", "bigtime"):
        return found % DAY
    return found


_CLOCK = re.compile(
    r"(?:^|[\sT])(\d{1,2}:\d{1,2}(?::\d{1,2}(?:[:.]\d{1,6})?)?\s*(?:[AP]M)?|\d{1,2}\s*[AP]M)$", re.IGNORECASE
)
_CLOCK_FORMATS = tuple(
    f"{hour}{rest}" for hour in ("%H", "%I") for rest in (":%M", ":%M:%S", ":%M:%S.%f", "")
)
# Two digits of a year below 50 are of this century. A month alone has its first day.
_DAY_FORMATS = (
    "%Y%m%d", "%y%m%d", "%Y", "%b %d %Y", "%b %d %y", "%d %b %Y", "%d %b %y", "%Y %b %d", "%b %Y", "%Y %b",
    "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d",
)  # fmt: skip
_LENGTHS = {"%Y%m%d": 8, "%y%m%d": 6, "%Y": 4}


def parse_moment(text: str) -> int | None:
    """Parses a date string in any of ASE's formats: microseconds since 1900-01-01, or None."""
    text = text.strip()
    clock = 0
    if at := _CLOCK.search(text):
        found = _clock(at[1])
        if found is None:
            return None
        clock, text = found, text[: at.start()].strip()
    day = _day(text) if text else EPOCH
    return None if day is None else microseconds(day) + clock


def _clock(text: str) -> int | None:
    """Microseconds since midnight. A fraction behind a colon is in milliseconds."""
    text = re.sub(
        r"^((?:\d+:){2}\d+):(\d+)", lambda m: f"{m[1]}.{m[2].zfill(3)}", text.upper().replace(" ", "")
    )
    for form in _CLOCK_FORMATS:
        with suppress(ValueError):
            return microseconds(datetime.strptime(text, form + "%p" if form.startswith("%I") else form)) % DAY
    return None


def _day(text: str) -> datetime | None:
    text = " ".join(re.sub(r"([a-z]{3})[a-z]*", r"\1", text.lower().replace(",", " ")).split())
    for form in _DAY_FORMATS:
        with suppress(ValueError):
            if len(text) == _LENGTHS.get(form, len(text)):
                day = datetime.strptime(re.sub(r"[-.]", "/", text), form)
                return day.replace(year=day.year - 100) if "%y" in form and day.year >= 2050 else day
    return None


# -- to binary ------------------------------------------------------------------------------------------


def _to_binary(source: Type, target: Type, value: EngineValue) -> bytes:
    if isinstance(value, bytes):
        raw = value
    elif isinstance(value, str):
        raw = value.encode("utf-8")
    else:
        width = {"tinyint": 1, "smallint": 2, "unsigned smallint": 2, "bigint": 8, "unsigned bigint": 8}.get(
            source.name, 4
        )
        raw = (int(value or 0) % (1 << 8 * width)).to_bytes(width, "big")
    limit = target.length or len(raw)
    raw = raw[:limit]
    return raw.ljust(limit, b"\x00") if target.name == "binary" else raw
