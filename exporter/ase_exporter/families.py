"""Metric families on their way from a reader to the wire.

Every reader (catalogue, sysmon, host, changes) yields `Family` objects; they are turned into the Prometheus text
format, or into OpenMetrics, for which Prometheus asks first, in one pass. prometheus_client needs about thirty
times as long for the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["counter", "gauge", "unknown"]
Sample = tuple[Sequence[str], float]


@dataclass(slots=True)
class Family:
    """One metric with all its samples.

    name: as users query it, so counters end in `_total`; base units (seconds, bytes, ratios 0-1).
    help: one sentence; names its source (MDA column, file, report row).
    labels: label names, sorted, as they stand on the wire.
    samples: (label values in the order of `labels`, value); a list, or `Samples` where there are many.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    samples: "list[Sample] | Samples" = field(default_factory=list)

    def __post_init__(self) -> None:
        if list(self.labels) != sorted(self.labels):
            raise ValueError(f"{self.name}: labels must be sorted, not {self.labels}")
        if (self.kind == "counter") != self.name.endswith("_total"):
            raise ValueError(f"{self.name}: a name ends in _total if, and only if, it is a counter's")

    def add(self, value: float, *label_values: str) -> None:
        """Append one sample; label values come in the order of `labels`."""
        self.extend([(label_values, value)])

    def extend(self, samples: "list[Sample] | Samples") -> None:
        """Append samples of any number."""
        if not self.samples and not isinstance(samples, list):
            self.samples = samples
        elif isinstance(self.samples, list):
            self.samples.extend(samples)
        else:
            self.samples = [*self.samples, *samples]


class Layout:
    """The label values of many samples, and the text around their numbers, rendered once for many scrapes."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self.texts = texts
        self._around: dict[tuple[str, tuple[str, ...]], list[bytes]] = {}

    def around(self, name: str, labels: tuple[str, ...]) -> list[bytes]:
        """What stands before each number, with room for the number behind it."""
        around = self._around.get((name, labels))
        if around is None:
            heads = [f"\n{name}{block} ".encode() for block in _blocks(labels, self.texts)]
            heads[0] = heads[0][1:]
            around = self._around[name, labels] = [b""] * (2 * len(heads) + 1)
            around[:-1:2] = heads
            around[-1] = b"\n"
        return around.copy()


class Samples(Sequence[Sample]):
    """Many samples: label values and an array of as many values, at least one."""

    def __init__(self, layout: Layout, values: "NDArray[Any]") -> None:
        self._layout = layout
        self._values = values

    def __len__(self) -> int:
        return len(self._layout.texts)

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(place, slice):
            return list(zip(self._layout.texts[place], self._values[place].tolist(), strict=True))
        return self._layout.texts[place], self._values[place].item()

    def __iter__(self) -> Iterator[Sample]:
        return zip(self._layout.texts, self._values.tolist(), strict=True)

    @property
    def values(self) -> "NDArray[Any]":
        """In order."""
        return self._values

    def render(self, name: str, labels: tuple[str, ...], numbers: list[bytes]) -> bytes:
        """All lines. numbers: the values as text."""
        lines = self._layout.around(name, labels)
        lines[1::2] = numbers
        return b"".join(lines)


def single(name: str, kind: Kind, help: str, value: float) -> Family:  # noqa: A002
    """A family of one sample without labels."""
    return Family(name, kind, help, (), [((), value)])


def render_text(families: Iterable[Family]) -> str:
    """The Prometheus text format 0.0.4, byte for byte as prometheus_client writes the same samples."""
    return render_bytes(families).decode()


def render_bytes(families: Iterable[Family], *, openmetrics: bool = False) -> bytes:
    """The same, or OpenMetrics 1.0, as it goes over the wire."""
    head_of = _openmetrics_head if openmetrics else _text_head
    parts: list[bytes] = []
    families = list(families)
    numbers = _numbers([family.samples.values for family in families if isinstance(family.samples, Samples)])
    for family in families:
        name, head = family.name, head_of(family)
        if isinstance(family.samples, Samples):
            # Joined family by family: join() takes eighty bytes for every piece while it works.
            parts += (head.encode(), family.samples.render(name, family.labels, next(numbers)))
            continue
        blocks = _blocks(family.labels, [values for values, _ in family.samples])
        lines = [
            f"{name}{block} {number(value)}\n"
            for block, (_, value) in zip(blocks, family.samples, strict=True)
        ]
        parts.append("".join([head, *lines]).encode())
    if openmetrics:
        parts.append(b"# EOF\n")
    return b"".join(parts)


def _numbers(columns: "list[NDArray[Any]]") -> Iterator[list[bytes]]:
    """The text of the values, column by column."""
    if columns:
        # numpy comes with it: only for those who have large tables.
        from ase_exporter.numerals import numerals_of

        yield from numerals_of(columns)


def _text_head(family: Family) -> str:
    kind = "untyped" if family.kind == "unknown" else family.kind
    return f"# HELP {family.name} {_escape_help(family.help)}\n# TYPE {family.name} {kind}\n"


def _openmetrics_head(family: Family) -> str:
    base = family.name.removesuffix("_total") if family.kind == "counter" else family.name
    return f"# HELP {base} {escape_label(family.help)}\n# TYPE {base} {family.kind}\n"


def _blocks(labels: tuple[str, ...], texts: Sequence[Sequence[str]]) -> list[str]:
    """Each sample's labels as they stand behind the name; '' without labels."""
    if not labels:
        return [""] * len(texts)
    template = "{" + ",".join(f'{label}="%s"' for label in labels) + "}"
    return [template % tuple([escape_label(value) for value in values]) for values in texts]


def render_openmetrics(families: Iterable[Family]) -> str:
    """The OpenMetrics format, byte for byte as prometheus_client writes the same samples."""
    return render_bytes(families, openmetrics=True).decode()


def number(value: float) -> str:
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


def escape_label(value: str) -> str:
    """A label value with backslash, quote and newline escaped."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _escape_help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")
