"""Metric families on their way from a reader to the wire.

Every reader (catalogue, sysmon, host, changes) yields `Family` objects; `render_text` turns them into the
Prometheus text format in one pass. prometheus_client needs about thirty times as long for the same bytes;
`to_metrics` hands the families to it where its other formats are wanted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client import Metric
from prometheus_client.openmetrics import exposition as openmetrics

Kind = Literal["counter", "gauge", "unknown"]
Sample = tuple[Sequence[str], float]


@dataclass(slots=True)
class Family:
    """One metric with all its samples.

    name: as users query it, so counters end in `_total`; base units (seconds, bytes, ratios 0-1).
    help: one sentence; names its source (MDA column, file, report row).
    labels: label names, sorted, as they stand on the wire.
    samples: (label values in the order of `labels`, value).
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        if list(self.labels) != sorted(self.labels):
            raise ValueError(f"{self.name}: labels must be sorted, not {self.labels}")
        if (self.kind == "counter") != self.name.endswith("_total"):
            raise ValueError(f"{self.name}: a name ends in _total if, and only if, it is a counter's")

    def add(self, value: float, *label_values: str) -> None:
        """Append one sample; label values come in the order of `labels`."""
        self.samples.append((label_values, value))


def single(name: str, kind: Kind, help: str, value: float) -> Family:  # noqa: A002
    """A family of one sample without labels."""
    return Family(name, kind, help, (), [((), value)])


def render_text(families: Iterable[Family]) -> str:
    """The Prometheus text format 0.0.4, byte for byte as prometheus_client writes the same samples."""
    lines: list[str] = []
    for family in families:
        name = family.name
        kind = "untyped" if family.kind == "unknown" else family.kind
        lines.append(f"# HELP {name} {_escape_help(family.help)}\n# TYPE {name} {kind}\n")
        if not family.labels:
            lines.extend([f"{name} {number(value)}\n" for _, value in family.samples])
            continue
        template = ",".join(f'{label}="%s"' for label in family.labels)
        lines.extend(
            [
                f"{name}{{{template % tuple([escape_label(v) for v in values])}}} {number(value)}\n"
                for values, value in family.samples
            ]
        )
    return "".join(lines)


def to_metrics(families: Iterable[Family]) -> Iterator[Metric]:
    """The same families as prometheus_client's own, for OpenMetrics."""
    for family in families:
        base = family.name.removesuffix("_total") if family.kind == "counter" else family.name
        metric = Metric(base, family.help, family.kind)
        for values, value in family.samples:
            metric.add_sample(family.name, dict(zip(family.labels, values, strict=True)), value)
        yield metric


def render_openmetrics(families: Iterable[Family]) -> str:
    """The OpenMetrics format, by prometheus_client."""

    class Given:
        def collect(self) -> Iterator[Metric]:
            return to_metrics(families)

    text: bytes = openmetrics.generate_latest(Given())  # type: ignore[no-untyped-call]
    return text.decode()


def number(value: float) -> str:
    """A value as Go's strconv and prometheus_client print it: 3.0, 1.234567e+06, NaN, +Inf."""
    value = float(value)
    text = repr(value)
    if "e" in text or "n" in text:
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)
    dot = text.find(".")
    if value > 0 and dot > 6:
        mantissa = f"{text[0]}.{text[1:dot]}{text[dot + 1 :]}".rstrip("0.")
        return f"{mantissa}e+{dot - 1:02d}"
    return text


def escape_label(value: str) -> str:
    """A label value with backslash, quote and newline escaped."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _escape_help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")
