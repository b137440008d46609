"""What was predicted of a change is shown of changes that were advised, and of nothing that somebody only wrote."""

from types import SimpleNamespace

import pytest

from ase_exporter.advise.remedies import AdviceStep
from ase_exporter.analysis import predicted
from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.windows import Span


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        (Change("", "", "option", "lock spinlock ratio", "100", "5", 50.0), True),
        (Change("", "", "option", "lock spinlock ratio", "100", "50", 50.0), False),
        (Change("", "", "annotation", "lock spinlock ratio", "", "", 50.0), False),
        (Change("", "", "annotation", "lock spinlock ratio: done", "100", "5", 50.0), False),
        (Change("", "", "option", "lock spinlock ratio", "100", "", 50.0), False),
        (Change("", "", "option", "lock spinlock ratio', 5", "100", "5", 50.0), False),
    ],
)
def test_a_prediction_is_of_a_change_that_was_advised(
    monkeypatch: pytest.MonkeyPatch, mark: Change, shown: bool
) -> None:
    step = AdviceStep(("exec sp_configure 'lock spinlock ratio', 5",), "")
    monkeypatch.setattr(predicted, "evidence", lambda *_: None)
    monkeypatch.setattr(predicted, "advise", lambda _: SimpleNamespace(steps=[step]))
    spans = (Span("before", 0.0, 40.0), Span("after", 60.0, 100.0))
    comparison = Comparison("", spans, (), 15.0, marks=(mark,))
    found = predicted.with_prediction(SimpleNamespace(), comparison).predicted  # type: ignore[arg-type]
    assert bool(found) == shown
