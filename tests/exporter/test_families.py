"""render_text writes what prometheus_client writes."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.utils import floatToGoString

from ase_exporter.families import Family, Kind, number, render_text, to_metrics

LABEL_VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class Fixed:
    """A prometheus_client collector of given metrics."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self.metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def reference(families: list[Family]) -> str:
    registry = CollectorRegistry()
    registry.register(Fixed(to_metrics(families)))
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


@given(st.one_of(st.floats(), st.integers(-(2**63), 2**64)))
def test_numbers_equal_prometheus_client(value: float) -> None:
    assert number(value) == floatToGoString(value)


def test_unsorted_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted"):
        Family("ase_up", "gauge", "", ("b", "a"))


@pytest.mark.parametrize(("name", "kind"), [("ase_x", "counter"), ("ase_x_total", "gauge")])
def test_counters_and_only_counters_end_in_total(name: str, kind: Kind) -> None:
    with pytest.raises(ValueError, match="_total"):
        Family(name, kind, "")
