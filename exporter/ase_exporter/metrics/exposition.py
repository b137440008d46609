"""Renders metric families as Prometheus text format 0.0.4, as prometheus_client does in thirty times the time."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ase_exporter.metrics.families import Family, LastingSamples

_SPECIAL = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def render_text(families: Iterable[Family]) -> str:
    """The text as a string."""
    return render_bytes(families).decode()


def render_bytes(families: Iterable[Family]) -> bytes:
    """The text in UTF-8, as an HTTP response carries it."""
    parts: list[bytes] = []
    for family in families:
        parts.append(_head(family.name, family.kind, family.help))
        # Joined family by family: join() needs eighty bytes of memory for every part.
        parts.append(b"".join(_lines(family)))
    return b"".join(parts)


def format_number(value: float) -> str:
    """A value as text: 3.0, 0.25, 1e-07, NaN, +Inf."""
    if isinstance(value, int):
        return f"{int(value)}.0"
    text = repr(float(value))
    return _SPECIAL.get(text, text)


def format_numbers(values: list[float]) -> list[bytes]:
    """The text of each value. Values of one type are formatted as a whole, in a third of the time."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return ("%d.0 " * len(values) % tuple(values)).encode().split()
    text = repr(values)[1:-1]
    # Neither inf nor nan.
    if kinds == {float} and "n" not in text:
        return text.encode().split(b", ")
    return [format_number(value).encode() for value in values]


def escape_label(value: str) -> str:
    """A label value with backslash, quote and newline escaped."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _lines(family: Family) -> list[bytes]:
    """The text of the samples: numbers at odd indexes, what is around them at even ones."""
    samples = family.samples
    if not isinstance(samples, LastingSamples):
        lines = _around(family, [labels for labels, _ in samples])
        lines[1::2] = format_numbers([value for _, value in samples])
        return lines
    kept, key = samples.series.rendered, (family.name, family.labels)
    if key not in kept:
        kept[key] = _around(family, samples.series.values)
    lines = kept[key].copy()
    lines[1::2] = format_numbers(samples.values)
    return lines


def _around(family: Family, label_values: Sequence[Sequence[str]]) -> list[bytes]:
    starts = [_start(family.name, family.labels, tuple(values)) for values in label_values]
    around = [b""] * (2 * len(starts) + 1)
    if starts:
        around[:-1:2] = starts
        around[0] = starts[0][1:]
        around[-1] = b"\n"
    return around


# Shared by all targets of a process: most of them have the same caches, engines and collectors.
@lru_cache(maxsize=16_384)
def _start(name: str, labels: tuple[str, ...], values: tuple[str, ...]) -> bytes:
    """The text of a sample up to its number, with the end of the line before."""
    pairs = [f'{label}="{escape_label(value)}"' for label, value in zip(labels, values, strict=True)]
    block = f"{{{','.join(pairs)}}}" if pairs else ""
    return f"\n{name}{block} ".encode()


@lru_cache(maxsize=2048)
def _head(name: str, kind: str, text: str) -> bytes:
    kind = "untyped" if kind == "unknown" else kind
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n".encode()
