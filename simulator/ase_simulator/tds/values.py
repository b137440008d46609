"""Python values to and from the bytes of ASE's scalar types, lengths not included.

Times are counted from 1900-01-01: datetime in days and 1/300 s, smalldatetime in days and minutes, date in
days, time in 1/300 s; bigdatetime in microseconds since 0000-01-01, bigtime since midnight.
"""

import struct
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
    days, ticks = _count(moment - EPOCH, _DAY), _ticks(moment)
    return (days + 1, 0) if ticks == TICKS_PER_DAY else (days, ticks)


def smalldatetime_parts(value: object) -> tuple[int, int]:
    """Days and minutes; 30 seconds round up."""
    return divmod(_count(as_datetime(value) - EPOCH + _MINUTE / 2, _MINUTE), 24 * 60)


def date_days(value: object) -> int:
    """Days."""
    return _count(as_datetime(value) - EPOCH, _DAY)


def time_ticks(value: object) -> int:
    """1/300 s since midnight."""
    return min(_ticks(as_datetime(value)), TICKS_PER_DAY - 1)


def bigdatetime_microseconds(value: object) -> int:
    """Microseconds since 0000-01-01."""
    return _count(as_datetime(value) - datetime.min + _DAY * DAYS_BEFORE_YEAR_1, _MICROSECOND)


def bigtime_microseconds(value: object) -> int:
    """Microseconds since midnight."""
    return _count(_since_midnight(as_datetime(value)), _MICROSECOND)


def money_units(value: object) -> int:
    """Ten-thousandths."""
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


def decode_datetime(data: bytes, order: str) -> datetime:
    """8 bytes are a datetime, 4 a smalldatetime."""
    if len(data) == 4:
        days, minutes = struct.unpack(order + "HH", data)
        return EPOCH + timedelta(days=days, minutes=minutes)
    days, ticks = struct.unpack(order + "iI", data)
    return EPOCH + timedelta(days=days) + _from_ticks(ticks)


def decode_date(data: bytes, order: str) -> date:
    """4 bytes."""
    return EPOCH.date() + timedelta(days=struct.unpack(order + "i", data)[0])


def decode_time(data: bytes, order: str) -> time:
    """4 bytes."""
    return (EPOCH + _from_ticks(struct.unpack(order + "I", data)[0])).time()


def decode_bigdatetime(data: bytes, order: str) -> datetime:
    """8 bytes."""
    microseconds = struct.unpack(order + "Q", data)[0]
    return datetime.min + (timedelta(microseconds=microseconds) - _DAY * DAYS_BEFORE_YEAR_1)


def decode_bigtime(data: bytes, order: str) -> time:
    """8 bytes."""
    return (EPOCH + timedelta(microseconds=struct.unpack(order + "Q", data)[0])).time()


def decode_money(data: bytes, order: str) -> Decimal:
    """8 bytes are money, 4 are smallmoney."""
    if len(data) == 4:
        return _scaled(struct.unpack(order + "i", data)[0], MONEY_SCALE)
    high, low = struct.unpack(order + "iI", data)
    return _scaled((high << 32) + low, MONEY_SCALE)


def decode_numeric(data: bytes, scale: int) -> Decimal:
    """Sign and magnitude."""
    units = int.from_bytes(data[1:], "big")
    return _scaled(-units if data[0] else units, scale)


def _units(value: object, scale: int) -> int:
    return int(_EXACT.to_integral_value(_EXACT.scaleb(as_decimal(value), scale)))


def _scaled(units: int, scale: int) -> Decimal:
    return Decimal(units).scaleb(-scale, _EXACT)


def _from_ticks(ticks: int) -> timedelta:
    # Whole milliseconds, as ASE shows them: a third of a second is .333
    return timedelta(milliseconds=(ticks * 1000 + TICKS_PER_SECOND // 2) // TICKS_PER_SECOND)


def _ticks(moment: datetime) -> int:
    microseconds = _count(_since_midnight(moment), _MICROSECOND)
    return (microseconds * TICKS_PER_SECOND + 500_000) // 1_000_000


def _since_midnight(moment: datetime) -> timedelta:
    return moment - datetime.combine(moment.date(), time())


def _count(span: timedelta, unit: timedelta) -> int:
    return span // unit
