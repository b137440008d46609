"""What was predicted of a change is shown of changes that were advised, and of nothing that somebody only wrote."""

from types import SimpleNamespace

import pytest

from ase_exporter.advise.remedies import AdviceStep
from ase_exporter.analysis import predicted
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.windows import Mark, Span


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        (Mark(50.0, "option", "lock spinlock ratio", "100", "5"), True),
        (Mark(50.0, "option", "lock spinlock ratio", "100", "50"), False),
        (Mark(50.0, "annotation", "lock spinlock ratio"), False),
        (Mark(50.0, "annotation", "lock spinlock ratio: done", "100", "5"), False),
        (Mark(50.0, "option", "lock spinlock ratio", "100", ""), False),
        (Mark(50.0, "option", "lock spinlock ratio', 5", "100", "5"), False),
    ],
)
def test_a_prediction_is_of_a_change_that_was_advised(
    monkeypatch: pytest.MonkeyPatch, mark: Mark, shown: bool
) -> None:
    step = AdviceStep(("exec sp_configure 'lock spinlock ratio', 5",), "")
    monkeypatch.setattr(predicted, "evidence", lambda *_: None)
    monkeypatch.setattr(predicted, "advise", lambda _: SimpleNamespace(steps=[step]))
    spans = (Span("before", 0.0, 40.0), Span("after", 60.0, 100.0))
    comparison = Comparison("", spans, (), 0.95, 15.0, marks=(mark,))
    found = predicted.with_prediction(SimpleNamespace(), comparison).predicted  # type: ignore[arg-type]
    assert bool(found) == shown
