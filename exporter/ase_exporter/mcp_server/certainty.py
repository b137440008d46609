"""How sure an answer is: the scrapes behind it."""

from statistics import median

import numpy as np

from ase_exporter.analysis import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.mcp_server.answers import Certainty, WindowOf, utc
from ase_exporter.mcp_server.privacy import public_text

# The end of a window, in which the scrape interval and the newest sample are looked for.
RECENT = 1800.0
MIN_COVERAGE = 0.9


def certainty(prometheus: Prometheus, selector: str, span: Span, covered: float | None = None) -> Certainty:
    """The scrapes of a server in a window, and what is wrong with them.

    covered: seconds of the part of the window that figures are of, if that is known.
    """
    window = max(1, round(span.seconds))
    up = f"sum(sum_over_time(ase_up{{{selector}}}[{window}s]))"
    scrapes = sum(round(sample.value) for sample in prometheus.query(up, span.end))
    recent = prometheus.recorded(f"ase_up{{{selector}}}", max(span.start, span.end - RECENT), span.end)
    times = [
        float(at) for series in recent for at, value in zip(series.times, series.values, strict=True) if value
    ]
    gaps = np.diff(sorted(times))
    interval = float(median(gaps)) if len(gaps) else None
    # A window holds one scrape more or less than its length says.
    coverage = min(1.0, (scrapes + 1) * interval / span.seconds) if interval else None
    notes = [f"Prometheus: {public_text(warning)}" for warning in dict.fromkeys(prometheus.warnings)]
    if interval is None:
        notes.append("fewer than two scrapes in the last 30 minutes of the window")
    elif coverage is not None and coverage < MIN_COVERAGE:
        notes.append(f"gaps: the server was scraped in {coverage:.0%} of the window")
    if covered is not None and covered < span.seconds - 1:
        notes.append(f"figures are of {covered:.0f} s of the window, which were scraped without a gap")
    return Certainty(
        scrapes=scrapes,
        coverage=None if coverage is None else round(coverage, 3),
        newest_age_seconds=round(span.end - max(times), 1) if times else None,
        notes=notes,
    )


def window_of(span: Span) -> WindowOf:
    """A window as answers have it."""
    return WindowOf(
        name=public_text(span.name),
        start=utc(span.start),
        end=utc(span.end),
        cuts=[public_text(cut) for cut in span.cuts],
    )
