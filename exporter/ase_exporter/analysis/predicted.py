"""What advise predicted of a change, beside what came of it. Every view of a comparison shows this line."""

import re
from collections.abc import Callable
from dataclasses import replace

from ase_exporter.advise.advice import advise
from ase_exporter.analysis.evidence import evidence
from ase_exporter.changes.change import ANNOTATION
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.measures import LOAD
from ase_exporter.compare.prometheus import Prometheus, PrometheusError
from ase_exporter.compare.request import Request, answer_from
from ase_exporter.errors import UserError

# What a prediction is about.
_OUTCOMES = (LOAD, "response_time", "spin_share")


def answer(
    request: Request, progress: Callable[[str, int, int], None] = lambda title, done, total: None
) -> Comparison:
    """The comparison that the options of `ase-exporter compare` ask for. Raises UserError."""
    with Prometheus(request.prometheus) as prometheus:
        return with_prediction(prometheus, answer_from(prometheus, request, progress))


def with_prediction(prometheus: Prometheus, comparison: Comparison) -> Comparison:
    """The comparison with `predicted`: what advise predicted of its changes from the first window, and what came.

    Without it if none of the changes between the windows was advised then.
    """
    promise = _promise(prometheus, comparison)
    if not promise:
        return comparison
    rows = [row for row in comparison.rows if row.key in _OUTCOMES]
    came = [
        f"{row.title} {row.measure.show(before)} to {row.measure.show(after)} ({row.verdict})"
        for row, (before, *_, after) in ((row, row.values) for row in rows)
        if before is not None and after is not None
    ]
    text = f"Advised before, with the prediction: {promise}. What came: {', '.join(came) or 'not measured'}."
    return replace(comparison, predicted=text)


def _promise(prometheus: Prometheus, comparison: Comparison) -> str:
    before, after = comparison.spans[0], comparison.spans[-1]
    between = [mark for mark in comparison.marks if before.end <= mark.at and mark.earliest <= after.start]
    if not between:
        return ""
    try:
        advice = advise(evidence(prometheus, comparison.selector, before))
    except PrometheusError:
        raise
    except UserError:
        return ""
    advised = (
        step.promise
        for step in advice.steps
        for statement in step.statements
        for mark in between
        # An annotation says what its author likes.
        if mark.kind != ANNOTATION
        and mark.new
        and f"'{mark.name.partition(':')[0]}'" in statement
        and re.search(rf"\b{re.escape(mark.new)}\b", statement)
    )
    return next(advised, "")
