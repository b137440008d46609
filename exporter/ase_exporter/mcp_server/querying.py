"""The tool query: PromQL within limits of range, points, series, bytes and time."""

from collections.abc import Iterable

from ase_exporter.analysis import moment
from ase_exporter.compare.prometheus import Labels
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import Queried, SeriesOf
from ase_exporter.mcp_server.overview import span_of
from ase_exporter.mcp_server.sources import Sources

MAX_SERIES = 50
MAX_POINTS_PER_SERIES = 500
MAX_POINTS = 5000
DEFAULT_POINTS = 100


def query(sources: Sources, arguments: inputs.Query) -> Queried:
    """Run a PromQL expression at a time, or over a range of up to 31 days."""
    if (arguments.start is None) != (arguments.end is None):
        raise UserError("start, end: expected both or none")
    if arguments.step is not None and arguments.start is None:
        raise UserError("step: expected start and end with it")
    with sources.connect() as prometheus:
        if arguments.start is None or arguments.end is None:
            at = moment(arguments.at, "at")
            found = [(each.labels, [(at, each.value)]) for each in prometheus.query(arguments.promql, at)]
            return _answer(arguments, None, found, prometheus.warnings)
        span = span_of(arguments.start, arguments.end)
        wanted = arguments.step or span.seconds / DEFAULT_POINTS
        step = max(wanted, span.seconds / (MAX_POINTS_PER_SERIES - 1), 1.0)
        found = [
            (series.labels, list(zip(series.times.tolist(), series.values.tolist(), strict=True)))
            for series in prometheus.over(arguments.promql, span.start, span.end, step)
        ]
        return _answer(arguments, step, found, prometheus.warnings)


def _answer(
    arguments: inputs.Query,
    step: float | None,
    found: list[tuple[Labels, list[tuple[float, float]]]],
    warnings: Iterable[str],
) -> Queried:
    kept, points = [], 0
    for labels, values in found[:MAX_SERIES]:
        points += len(values)
        if points > MAX_POINTS:
            break
        kept.append(SeriesOf.of(labels=labels, points=values))
    notes = list(warnings)
    if step is not None and arguments.step is not None and step > arguments.step:
        notes.append(f"step raised from {arguments.step:g} to {step:g} s")
    if len(kept) < len(found):
        notes.append("series were left out: use topk, sum by or more label matchers")
    return Queried.of(
        promql=arguments.promql,
        kind="instant" if step is None else "range",
        step_seconds=step,
        series=kept,
        series_left_out=len(found) - len(kept),
        notes=notes,
    )
