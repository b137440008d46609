"""Where answers come from, a Prometheus and perhaps an exporter; and how sure they are."""

import time
from dataclasses import dataclass

from ase_exporter.changes.change import Change
from ase_exporter.compare.coverage import read_coverage
from ase_exporter.compare.marks import marks_from_exporter, with_restarts
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.mcp_server.answers import Certainty

# Limits of one call of a tool.
REQUEST_SECONDS = 20.0
CALL_SECONDS = 60.0
MAX_BYTES = 16 * 2**20
# Share of a window below which its gaps are worth a note.
MIN_COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class Sources:
    """prometheus, exporter: URLs; exporter may be None. selector: more label matchers of servers."""

    prometheus: str
    exporter: str | None = None
    selector: str = ""

    def connect(self) -> Prometheus:
        """A client for one call of a tool, with its limits. Raises UserError for a bad URL."""
        deadline = time.monotonic() + CALL_SECONDS
        return Prometheus(self.prometheus, timeout=REQUEST_SECONDS, max_bytes=MAX_BYTES, deadline=deadline)

    def changes(self, prometheus: Prometheus, server: str, start: float, end: float) -> list[Change]:
        """The changes of a server between two Unix times, in order of time."""
        found = None
        if self.exporter:
            kept = marks_from_exporter(self.exporter, server)
            found = [mark for mark in kept if start <= mark.at <= end]
        selector = server_selector(server, self.selector)
        return with_restarts(prometheus, selector, start, end, time.time(), found)


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
