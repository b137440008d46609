"""Formats one number as the exposition formats want it; `array_formatting` does the same for whole arrays."""


def format_number(value: float) -> str:
    """A value as Go's strconv and prometheus_client print it: 3.0, 1.234567e+06, NaN, +Inf."""
    value = float(value)
    text = repr(value)
    if -1e6 < value < 1e6:
        return text
    if "e" in text or "n" in text:
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)
    dot = text.find(".")
    if value > 0 and dot > 6:
        mantissa = f"{text[0]}.{text[1:dot]}{text[dot + 1 :]}".rstrip("0.")
        return f"{mantissa}e+{dot - 1:02d}"
    return text
