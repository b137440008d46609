"""Where answers come from, a Prometheus and perhaps an exporter; and how sure they are."""

import time
from dataclasses import dataclass
from typing import Any

import msgspec

from ase_exporter.changes.change import Change
from ase_exporter.compare.coverage import read_coverage
from ase_exporter.compare.marks import ask_exporter, marks_from_exporter, with_restarts
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.config.times import moment_option
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.views.figures import shown
from ase_exporter.views.view import Foreign

# Limits of one call of a tool.
REQUEST_SECONDS, CALL_SECONDS, MAX_BYTES = 20.0, 60.0, 16 * 2**20
MAX_RANGE = 31 * 86400.0
# Share of a window below which its gaps are worth a note.
MIN_COVERAGE = 0.9


class _Told(msgspec.Struct):
    """What the exporter must answer of one server, before the first scrape nothing."""

    word: str = ""
    says: str = ""
    rank: float | None = None


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

    def window(self, arguments: inputs.Window) -> tuple[str, Span]:
        """Label matchers and window of a call. Raises UserError for bad times and windows over 31 days."""
        start, end, now = arguments.start, arguments.end, time.time()
        since = moment_option("start", start, now)
        span = Span(f"{start}..{end}", since, moment_option("end", end, now, since))
        require_bounded(span, "end")
        return server_selector(arguments.server, self.selector), span

    def changes(self, prometheus: Prometheus, server: str, start: float, end: float) -> list[Change]:
        """The changes of a server between two Unix times, in order of time."""
        known = marks_from_exporter(self.exporter, server) if self.exporter else None
        found = None if known is None else [mark for mark in known if start <= mark.at <= end]
        selector = server_selector(server, self.selector)
        return with_restarts(prometheus, selector, start, end, time.time(), found)

    def diagnoses(self) -> dict[str, dict[str, Any]]:
        """What the exporter says of each server that it is configured to scrape; of none without an exporter."""
        if self.exporter is None:
            return {}
        found: dict[str, dict[str, Any]] = ask_exporter(self.exporter, "/diagnosis", {})
        try:
            msgspec.convert(found, dict[str, _Told])
        except msgspec.ValidationError:
            raise UserError("--url: not an answer of ase-exporter to /diagnosis") from None
        return found


def require_bounded(span: Span, place: str) -> None:
    """Raises UserError, which names the place, for a window that ends before it begins or is over MAX_RANGE."""
    if not 0 < span.seconds <= MAX_RANGE:
        raise UserError(f"{place}: expected a time after the start, within 31 days of it")


def certainty(prometheus: Prometheus, selector: str, span: Span) -> dict[str, Any]:
    """How sure an answer is: the scrapes of a server in a window, and what is wrong with them."""
    seen = read_coverage(prometheus, selector, span)
    times = seen.times[seen.times >= span.start]
    # A window holds one scrape more or less than its length says.
    coverage = min(1.0, (len(times) + 1) * seen.interval / span.seconds) if len(times) > 1 else None
    notes = [f"Prometheus: {warning}" for warning in dict.fromkeys(prometheus.warnings)]
    if coverage is None:
        notes.append("fewer than two scrapes in the window")
    elif coverage < MIN_COVERAGE:
        notes.append(f"gaps: the server was scraped in {shown(coverage, 'ratio')} of the window")
    return {
        "scrapes": len(times),
        "coverage": None if coverage is None else round(coverage, 3),
        "newest_age_seconds": round(span.end - float(times[-1]), 1) if len(times) else None,
        "notes": [*map(Foreign, notes)],
    }
