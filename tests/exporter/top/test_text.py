"""Figures as text: short, and never wrong by more than they say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.top.text import groups
from ase_exporter.views.figures import short

UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SHARES = st.none() | st.floats(0, 1)


@given(st.floats(0, 9e14))
def test_a_count_has_five_characters_at_most_and_is_right_to_a_few_percent(number: float) -> None:
    text = short(number)
    assert len(text) <= 5
    value = float(text.rstrip("kMGT")) * UNITS.get(text[-1], 1.0)
    assert value == pytest.approx(number, rel=0.051, abs=0.0051)


def test_what_is_not_known_is_a_dash() -> None:
    assert {short(None), short(math.nan)} == {"-"}


@given(st.lists(SHARES, max_size=1100), st.integers(1, 200))
def test_engines_fit_any_width_and_none_is_lost(shares: list[float | None], width: int) -> None:
    found = groups(shares, width)
    assert len(found) <= width and (not shares or found)
    each = math.ceil(len(shares) / width)
    known = [share for share in shares[:each] if share is not None]
    assert not shares or found[0] == (pytest.approx(sum(known) / len(known)) if known else None)
