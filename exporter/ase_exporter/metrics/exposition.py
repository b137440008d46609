"""Renders metric families as Prometheus text format 0.0.4, as prometheus_client does in thirty times the time."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import isfinite

from ase_exporter.metrics.families import Family, LastingSamples, SeriesLabels

_SPECIAL = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def render_text(families: Iterable[Family]) -> str:
    """The text as a string."""
    parts: list[str] = []
    for family in families:
        parts += _head(family.name, family.kind, family.help), _lines(family)
    return "".join(parts)


def render_bytes(families: Iterable[Family]) -> bytes:
    """The text in UTF-8, as an HTTP response carries it."""
    return render_text(families).encode()


def format_number(value: float) -> str:
    """A value as text: 3.0, 0.25, 1e-07, NaN, +Inf."""
    if isinstance(value, int):
        return f"{int(value)}.0"
    text = repr(float(value))
    return _SPECIAL.get(text, text)


def escape_label(value: str) -> str:
    """A label value with backslash, quote and newline escaped."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _lines(family: Family) -> str:
    """The text of the samples. That of many series which last is kept, and only their numbers are formatted."""
    name, names, samples = family.name, family.labels, family.samples
    if isinstance(samples, LastingSamples):
        template, numbers = _formats(samples.values)
        return _template(name, names, samples.series, template) % tuple(numbers)
    lines = [f"{_start(name, names, tuple(labels))}{format_number(value)}\n" for labels, value in samples]
    return "".join(lines)


def _formats(values: Sequence[float]) -> tuple[str, Iterable[float | str]]:
    """A format that suits all values, and what it is applied to."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return "%d.0", values
    if kinds == {float} and all(map(isfinite, values)):
        return "%r", values
    return "%s", map(format_number, values)


def _template(name: str, names: tuple[str, ...], series: SeriesLabels, number: str) -> str:
    """The text of all samples with a format in place of each number."""
    key = name, names, number
    if key not in series.templates:
        starts = [_start(name, names, tuple(labels)).replace("%", "%%") for labels in series.values]
        series.templates[key] = "".join([f"{start}{number}\n" for start in starts])
    return series.templates[key]


# Shared by all targets of a process: most of them have the same caches, engines and collectors.
@lru_cache(maxsize=16_384)
def _start(name: str, names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The text of a sample up to its number."""
    pairs = [f'{label}="{escape_label(value)}"' for label, value in zip(names, values, strict=True)]
    return f"{name}{{{','.join(pairs)}}} " if pairs else f"{name} "


@lru_cache(maxsize=2048)
def _head(name: str, kind: str, text: str) -> str:
    kind = "untyped" if kind == "unknown" else kind
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"
