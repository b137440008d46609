"""Sentences of a comparison refer to rows by number, whatever the names of caches and spinlocks are."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exporter.compare.test_terminal import row

from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.windows import Span
from ase_exporter.mcp_server import answers
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS

SPANS = (Span("before", 0, 600), Span("after", 600, 1200))
WORSE = row("cache_contention", 0.3, 0.6)


def compared(
    rows: Sequence[ComparisonRow] = (), marks: Sequence[Change] = (), spans: tuple[Span, Span] = SPANS
) -> dict[str, Any]:
    """What the tool compare says of a comparison."""
    comparison = Comparison("", spans, tuple(rows), 15.0, marks=tuple(marks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "answer_from", lambda *_: comparison)
        windows = {"before": "2h..1h", "after": "1h..0h"}
        return TOOLS["compare"].call(Sources("http://127.0.0.1:1"), {"server": "ONE", **windows})


def test_of_changes_whose_texts_share_a_prefix_the_right_one_is_named() -> None:
    marks = [Change("", "ONE", "annotation", name, "", "", 300.0) for name in ("trades", "trades2")]
    before = Span("before", 0, 500, (f"100 s less: before {marks[1]}",))
    found = compared([WORSE], marks, (before, SPANS[1]))
    assert found["windows"][0]["cuts"] == ["100 s less: before changes[1]"]


NAMES = st.lists(st.text("ab(1)", min_size=1, max_size=4), min_size=1, max_size=5, unique=True)


@given(NAMES)
def test_the_row_of_a_sentence_is_the_right_one_whatever_the_names(names: list[str]) -> None:
    found = compared([replace(WORSE, name=name) for name in names])
    assert found["headline"].startswith("Contention of (rows[0]): worse by 100.0% (")
    assert [each["name"] for each in found["rows"]] == names
