"""Date and time functions, with ASE's names of date parts."""

import calendar
from datetime import datetime
from typing import Any

from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function, same
from ase_simulator.sql.types.rules import DATETIME, INT
from ase_simulator.sql.types.values import DAY, EngineValue, microseconds, moment_of

_NAMES = {
    "year": "yy yyyy", "quarter": "qq", "month": "mm", "week": "wk", "day": "dd", "dayofyear": "dy", "weekday": "dw",
    "hour": "hh", "minute": "mi", "second": "ss", "millisecond": "ms", "microsecond": "us",
}  # fmt: skip
_PARTS = {name: part for part, names in _NAMES.items() for name in (part, *names.split())}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_SPANS = {
    "week": 7 * DAY,
    **dict.fromkeys(("day", "dayofyear", "weekday"), DAY),
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}


def _part(name: Any) -> str:
    part = _PARTS.get(str(name).lower())
    if part is None:
        raise SqlError(155, name, "datepart")
    return part


@function("datediff", "any", "datetime", "datetime", returns=INT, strict=True)
def _datediff(name: Any, start: Any, end: Any) -> EngineValue:
    part = _part(name)
    if part in _MONTHS:
        first, second = (moment.year * 12 + moment.month - 1 for moment in map(moment_of, (start, end)))
        return second // _MONTHS[part] - first // _MONTHS[part]
    if part == "week":
        return int((end // DAY + 1) // 7 - (start // DAY + 1) // 7)
    if part in ("millisecond", "microsecond"):
        count = (end - start) // _SPANS[part]
    else:
        count = end // _SPANS[part] - start // _SPANS[part]
    if not -(2**31) <= count < 2**31:
        raise SqlError(535)
    return int(count)


@function("dateadd", "any", "int", "datetime", returns=same(2), strict=True)
def _dateadd(name: Any, count: Any, moment: Any) -> EngineValue:
    part = _part(name)
    if part in _MONTHS:
        months = count * _MONTHS[part]
        start = moment_of(moment)
        index = start.year * 12 + start.month - 1 + months
        year, month = divmod(index, 12)
        if not 1 <= year <= 9999:
            raise SqlError(517, "datetime")
        day = min(start.day, calendar.monthrange(year, month + 1)[1])
        return microseconds(start.replace(year=year, month=month + 1, day=day))
    result = moment + count * _SPANS[part]
    if not microseconds(datetime(1, 1, 1)) <= result < microseconds(datetime(9999, 12, 31)) + DAY:
        raise SqlError(517, "datetime")
    return int(result)


function("getdate", returns=DATETIME, session=True)(lambda session: microseconds(session.now()))
function("getutcdate", returns=DATETIME, session=True)(lambda session: microseconds(session.server.now()))
