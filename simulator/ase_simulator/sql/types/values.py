"""Converts values between Python (model and clients) and the embedded engine.

Inside the engine a date or time of any kind is a whole number of microseconds since 1900-01-01. Numerics with
decimal places and money are reals (rounded to their scale on the way out), or decimal text where a real would lose
digits. Everything else is as it is.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

from ase_simulator.results import Type
from ase_simulator.sql.types.rules import BINARIES, RANGES

EngineValue = int | float | str | bytes | None

EPOCH = datetime(1900, 1, 1)
DAY = 86_400_000_000
WIDE = Context(prec=80)
_TICK = 10_000 / 3  # datetime counts in 1/300 s


def microseconds(moment: datetime) -> int:
    span = moment - EPOCH
    return span.days * DAY + span.seconds * 1_000_000 + span.microseconds


def moment_of(value: int) -> datetime:
    """The reverse of microseconds()."""
    return EPOCH + timedelta(microseconds=value)


@cache
def to_engine(type_: Type) -> Callable[[object], EngineValue]:
    """A converter from values of the model or a client for columns of that type; integers wrap into it."""
    if type_.name in RANGES:
        low, high = RANGES[type_.name]
        span = high - low + 1

        def whole(value: object) -> int | None:
            if value is None:
                return None
            number: int = int(value)  # type: ignore[call-overload]
            return number if low <= number <= high else (number - low) % span + low

        if high < 2**63:
            return whole
        return lambda value: _loose(whole(value))
    return _loose


def bounded(number: int) -> EngineValue:
    """SQLite's integers end at 2^63 - 1; larger values of unsigned bigint become text."""
    return number if number < 2**63 else str(number)


def _loose(value: object) -> EngineValue:
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return bounded(value) if isinstance(value, int) else value
    if isinstance(value, Decimal):
        return exact(value)
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, date):
        return (value - EPOCH.date()).days * DAY
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return str(value)


@cache
def from_engine(type_: Type) -> Callable[[EngineValue], object] | None:
    """A converter to what a client gets for that type; None if no conversion is needed."""
    name = type_.name
    if name in RANGES:
        return _optional(bool) if name == "bit" else _optional(int)
    if name in ("real", "float"):
        return _optional(float)
    if name in ("numeric", "decimal"):
        return _optional(lambda value: scaled(value, type_.scale))
    if name in ("money", "smallmoney"):
        return _optional(lambda value: scaled(value, 4))
    if name in ("datetime", "smalldatetime", "bigdatetime"):
        return _optional(_moment_for(name))
    if name == "date":
        return _optional(lambda value: moment_of(int(value)).date())
    if name in ("time", "bigtime"):
        return _optional(lambda value: moment_of(int(value) % DAY).time())
    if name in BINARIES:
        return _optional(lambda value: value if isinstance(value, bytes) else str(value).encode())
    return _string_for(type_)


def _optional(convert: Callable[..., object]) -> Callable[[EngineValue], object]:
    return lambda value: None if value is None else convert(value)


def _moment_for(name: str) -> Callable[[int], datetime]:
    if name == "bigdatetime":
        return lambda value: moment_of(int(value))
    if name == "smalldatetime":
        return lambda value: moment_of((int(value) + 30_000_000) // 60_000_000 * 60_000_000)
    return lambda value: moment_of(tick(int(value)))


def tick(value: int) -> int:
    """A datetime as ASE keeps it: in steps of 1/300 second, shown in whole milliseconds."""
    return round(round(value / _TICK) * _TICK / 1000) * 1000


def _string_for(type_: Type) -> Callable[[EngineValue], object] | None:
    if type_.name in ("char", "nchar", "unichar"):
        return _optional(lambda value: str(value)[: type_.length].ljust(type_.length))
    if type_.length:
        return _optional(lambda value: (value if isinstance(value, str) else str(value))[: type_.length])
    return None


def scaled(value: EngineValue, scale: int) -> Decimal:
    """A number with exactly that many decimal places."""
    return decimal_of(value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, WIDE)


def decimal_of(value: EngineValue) -> Decimal:
    """A number of the engine as a Decimal; 0 for NULL."""
    if isinstance(value, int):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) else Decimal(repr(float(value or 0)))


def exact(value: Decimal) -> EngineValue:
    """A Decimal as the engine holds it: an integer, a real that has all its digits, or decimal text."""
    if value == value.to_integral_value() and abs(value) < 2**63:
        return int(value)
    real = float(value)
    return real if Decimal(repr(real)) == value else f"{value:f}"
