"""Python values to the bytes of ASE's scalar types, lengths not included.

Times are counted from 1900-01-01: datetime in days and 1/300 s, smalldatetime in days and minutes, date in
days, time in 1/300 s; bigdatetime in microseconds since 0000-01-01, bigtime since midnight.
"""

from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

EPOCH = datetime(1900, 1, 1)
TICKS_PER_SECOND = 300
TICKS_PER_DAY = 24 * 3600 * TICKS_PER_SECOND
DAYS_BEFORE_YEAR_1 = 366
MONEY_SCALE = 4

# wide enough for numeric(38) and all its digits behind the point
_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_MICROSECOND = timedelta(microseconds=1)


def as_datetime(value: object) -> datetime:
    """A date is its midnight, a time is on 1900-01-01, as ASE converts them."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, time):
        return datetime.combine(EPOCH.date(), value)
    raise TypeError(f"{value!r} is no date or time")


def as_decimal(value: object) -> Decimal:
    """Floats by their shortest text, not by their binary value."""
    return value if isinstance(value, Decimal) else Decimal(str(value))


def datetime_parts(value: object) -> tuple[int, int]:
    """Days and 1/300 s."""
    moment = as_datetime(value)
    days, ticks = (moment - EPOCH) // _DAY, _ticks(moment)
    return (days + 1, 0) if ticks == TICKS_PER_DAY else (days, ticks)


def smalldatetime_parts(value: object) -> tuple[int, int]:
    """Days and minutes; 30 seconds round up."""
    return divmod((as_datetime(value) - EPOCH + _MINUTE / 2) // _MINUTE, 24 * 60)


def date_days(value: object) -> int:
    return (as_datetime(value) - EPOCH) // _DAY


def time_ticks(value: object) -> int:
    """1/300 s since midnight."""
    return min(_ticks(as_datetime(value)), TICKS_PER_DAY - 1)


def bigdatetime_microseconds(value: object) -> int:
    """Microseconds since 0000-01-01."""
    return (as_datetime(value) - datetime.min + _DAY * DAYS_BEFORE_YEAR_1) // _MICROSECOND


def bigtime_microseconds(value: object) -> int:
    """Microseconds since midnight."""
    return _since_midnight(as_datetime(value)) // _MICROSECOND


def money_units(value: object) -> int:
    return _units(value, MONEY_SCALE)


def money_parts(value: object) -> tuple[int, int]:
    """High and low half of a money value."""
    units = money_units(value)
    return units >> 32, units & 0xFFFFFFFF


def numeric_size(precision: int) -> int:
    """Bytes of a numeric on the wire, its sign included."""
    greatest: int = 10**precision - 1
    return 1 + (greatest.bit_length() + 7) // 8


def encode_numeric(value: object, precision: int, scale: int) -> bytes:
    """Sign (1 is minus) and big-endian magnitude; OverflowError where it does not fit."""
    units = _units(value, scale)
    return bytes((units < 0,)) + abs(units).to_bytes(numeric_size(precision) - 1, "big")


def _units(value: object, scale: int) -> int:
    return int(_EXACT.to_integral_value(_EXACT.scaleb(as_decimal(value), scale)))


def _ticks(moment: datetime) -> int:
    microseconds = _since_midnight(moment) // _MICROSECOND
    return (microseconds * TICKS_PER_SECOND + 500_000) // 1_000_000


def _since_midnight(moment: datetime) -> timedelta:
    return moment - datetime.combine(moment.date(), time())
