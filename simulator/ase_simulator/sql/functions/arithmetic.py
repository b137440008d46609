"""Mathematical functions, and arithmetic with ASE's checks."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from ase_simulator.results import Type, TypeName
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function, null_of_null, same
from ase_simulator.sql.types.rules import INT, RANGES, Typed, numeric
from ase_simulator.sql.types.values import WIDE, EngineValue, bounded, decimal_of, exact


def fit(type_name: TypeName, value: Any) -> EngineValue:
    """An integer result of that type; raises SqlError 3606 on overflow."""
    low, high = RANGES[type_name]
    number = int(value) if isinstance(value, str) else value
    if isinstance(value, float) or not low <= number <= high:
        raise SqlError(3606)
    return bounded(number)


def divide_whole(left: Any, right: Any, scale: int) -> EngineValue:
    """Integer division, cut towards zero."""
    left, right = int(left), int(right)
    quotient = abs(left) // abs(right)
    return bounded(quotient if (left < 0) == (right < 0) else -quotient)


def divide_numeric(left: Any, right: Any, scale: int) -> EngineValue:
    """Division of exact numbers, cut at the result's scale."""
    quotient = WIDE.divide(decimal_of(left), decimal_of(right))
    return exact(quotient.quantize(Decimal(1).scaleb(-scale), ROUND_DOWN, WIDE))


def calculate(operator: str, left: Any, right: Any) -> EngineValue:
    """Addition, subtraction or multiplication of exact numbers."""
    first, second = decimal_of(left), decimal_of(right)
    if operator == "*":
        return exact(WIDE.multiply(first, second))
    return exact(WIDE.add(first, second) if operator == "+" else WIDE.subtract(first, second))


def divide_real(left: Any, right: Any, scale: int) -> EngineValue:
    """Division of approximate numbers and money."""
    return float(left) / float(right)


def modulo_whole(left: Any, right: Any, scale: int) -> EngineValue:
    """The remainder, with the sign of the dividend."""
    return (
        int(math.fmod(left, right)) if abs(left) < 2**53 else abs(left) % abs(right) * (1 if left > 0 else -1)
    )


def modulo_real(left: Any, right: Any, scale: int) -> EngineValue:
    """The remainder of numbers that are not whole."""
    return math.fmod(float(left), float(right))


def _division(run: Callable[..., EngineValue]) -> Callable[..., EngineValue]:
    def checked(left: Any, right: Any, scale: int) -> EngineValue:
        if decimal_of(right) == 0:
            raise SqlError(3607)
        return run(left, right, scale)

    return checked


_DIVISIONS: dict[str, Callable[..., EngineValue]] = {
    "divide_whole": divide_whole,
    "divide_numeric": divide_numeric,
    "divide_real": divide_real,
    "modulo_whole": modulo_whole,
    "modulo_numeric": modulo_real,
    "modulo_real": modulo_real,
}
OPERATORS = {
    "fit": null_of_null(fit),
    "calculate": null_of_null(calculate),
    **{name: null_of_null(_division(run)) for name, run in _DIVISIONS.items()},
}
"""What queries call of them: NULL for NULL, and error 3607 for a division by 0."""


@function("hextoint", "binary", returns=INT, strict=True)
def _hextoint(value: Any) -> EngineValue:
    if isinstance(value, bytes):
        number = int.from_bytes(value[-4:], "big")
    else:
        try:
            number = int(str(value).lower().removeprefix("0x"), 16) % 2**32
        except ValueError:
            raise SqlError(249, "explicit", "VARCHAR", value, "INT") from None
    return number - 2**32 if number >= 2**31 else number


def _of_whole(run: Callable[[Any], int]) -> Callable[[Any], EngineValue]:
    """A function whose value is whole, in the kind of its argument."""
    return lambda value: float(run(value)) if isinstance(value, float) else run(value)


def _whole(arguments: Sequence[Typed]) -> Type:
    """The argument's type without its decimal places."""
    type_ = arguments[0].type or INT
    return numeric(type_.precision, 0) if type_.name in ("numeric", "decimal") else type_


function("abs", "number", returns=same(), strict=True)(abs)
function("floor", "number", returns=_whole, strict=True)(_of_whole(math.floor))
function("ceiling", "number", returns=_whole, strict=True)(_of_whole(math.ceil))
