"""How sure an answer is: the scrapes behind it."""

from ase_exporter.analysis import Prometheus
from ase_exporter.compare.coverage import read_coverage
from ase_exporter.compare.windows import Span
from ase_exporter.mcp_server.answers import Certainty

MIN_COVERAGE = 0.9


def certainty(prometheus: Prometheus, selector: str, span: Span, covered: float | None = None) -> Certainty:
    """The scrapes of a server in a window, and what is wrong with them.

    covered: seconds of the part of the window that figures are of, if that is known.
    """
    seen = read_coverage(prometheus, selector, span)
    times = seen.times[seen.times >= span.start]
    # A window holds one scrape more or less than its length says.
    coverage = min(1.0, (len(times) + 1) * seen.interval / span.seconds) if len(times) > 1 else None
    notes = [f"Prometheus: {warning}" for warning in dict.fromkeys(prometheus.warnings)]
    if coverage is None:
        notes.append("fewer than two scrapes in the window")
    elif coverage < MIN_COVERAGE:
        notes.append(f"gaps: the server was scraped in {coverage:.0%} of the window")
    if covered is not None and covered < span.seconds - 1:
        notes.append(f"figures are of {covered:.0f} s of the window, which were scraped without a gap")
    return Certainty(
        scrapes=len(times),
        coverage=None if coverage is None else round(coverage, 3),
        newest_age_seconds=round(span.end - float(times[-1]), 1) if len(times) else None,
        notes=notes,
    )
