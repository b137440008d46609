"""Rendered families equal prometheus_client's output."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Metric, exposition, generate_latest

from ase_exporter.metrics.exposition import format_number, render_text
from ase_exporter.metrics.families import Family, Kind, LastingSamples, SeriesLabels

LABEL_VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class Fixed:
    """A prometheus_client collector of given metrics."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self.metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def to_metrics(families: Iterable[Family]) -> Iterable[Metric]:
    """The same families as prometheus_client's own."""
    for family in families:
        base = family.name.removesuffix("_total") if family.kind == "counter" else family.name
        metric = Metric(base, family.help, family.kind)
        for values, value in family.samples:
            metric.add_sample(family.name, dict(zip(family.labels, values, strict=True)), value)
        yield metric


def reference(families: list[Family]) -> str:
    registry = CollectorRegistry()
    registry.register(Fixed(to_metrics(families)))
    with pytest.MonkeyPatch.context() as patch:
        # It writes numbers as Go does: 1.234567e+06.
        patch.setattr(exposition, "floatToGoString", format_number)
        return generate_latest(registry).decode()


@st.composite
def families(draw: st.DrawFn) -> list[Family]:
    made = []
    for index in range(draw(st.integers(0, 3))):
        kind: Kind = draw(st.sampled_from(["counter", "gauge", "unknown"]))
        labels = draw(st.sampled_from([(), ("a",), ("a", "b"), ("cache", "engine", "spinlock")]))
        rows = st.tuples(
            st.tuples(*[LABEL_VALUES] * len(labels)),
            st.one_of(st.floats(), st.integers(-(2**63), 2**64), st.booleans()),
        )
        name = f"ase_m{index}" + ("_total" if kind == "counter" else "")
        made.append(Family(name, kind, draw(st.text(max_size=20)), labels, draw(st.lists(rows, max_size=4))))
    return made


@given(families())
def test_text_equals_prometheus_client_byte_for_byte(made: list[Family]) -> None:
    assert render_text(made) == reference(made)


@given(
    st.one_of(
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.floats(), min_size=1),
        st.lists(st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False)), min_size=1),
    )
)
def test_numbers_are_read_back_as_they_are(values: list[float]) -> None:
    layout = SeriesLabels([()] * len(values))
    lines = render_text([Family("ase_m", "gauge", "", (), LastingSamples(layout, values))]).splitlines()[2:]
    texts = [line.removeprefix("ase_m ") for line in lines]
    assert repr(list(map(float, texts))) == repr(list(map(float, values)))
    assert all(re.fullmatch(r"-?\d+\.\d+|-?[\d.]+e[-+]\d+|NaN|[-+]Inf", text) for text in texts)


def test_unsorted_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted"):
        Family("ase_up", "gauge", "", ("b", "a"))


@pytest.mark.parametrize(("name", "kind"), [("ase_x", "counter"), ("ase_x_total", "gauge")])
def test_counters_and_only_counters_end_in_total(name: str, kind: Kind) -> None:
    with pytest.raises(ValueError, match="_total"):
        Family(name, kind, "")


NUMBERS: st.SearchStrategy[float] = st.one_of(st.integers(0, 2**53), st.floats(0, 1e300))


@given(st.data(), st.sampled_from([("ase_m_total", "counter"), ("ase_m", "gauge")]))
def test_many_samples_equal_prometheus_client_scrape_after_scrape(
    data: st.DataObject, named: tuple[str, Kind]
) -> None:
    labels = data.draw(st.sampled_from([(), ("a",), ("a", "b")]))
    texts = data.draw(st.lists(st.tuples(*[LABEL_VALUES] * len(labels)), min_size=1, max_size=5))
    layout = SeriesLabels(texts)
    for _ in range(2):
        values: list[float] = data.draw(st.lists(NUMBERS, min_size=len(texts), max_size=len(texts)))
        family = Family(*named, "Many.", labels, LastingSamples(layout, values))
        plain = Family(*named, "Many.", labels, list(zip(texts, values, strict=True)))
        assert render_text([family]) == reference([plain]) == reference([family])
        assert list(family.samples) == plain.samples
