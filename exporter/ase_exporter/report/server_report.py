"""Everything that a report says of one server, read from Prometheus."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ase_exporter.changes.change import Change
from ase_exporter.compare.coverage import read_coverage, require_one_server
from ase_exporter.compare.prometheus import Prometheus, range_text
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.diagnose import Level
from ase_exporter.report.effects import Effect, judge, read_changes
from ase_exporter.report.history import (
    THIN,
    Hour,
    ServerHistory,
    hours,
    read_gaps,
    read_server_history,
    without_edges,
)
from ase_exporter.report.past_diagnosis import PastDiagnosis, found_by_span, read_diagnosis
from ase_exporter.report.period import HOUR, Period, Range
from ase_exporter.report.profile import LoadRow, ProfileReader, ProfileTable, empty_tables
from ase_exporter.rules.intervals import SCRAPES_PER_WINDOW, SHIPPED_INTERVAL
from ase_exporter.views.figures import counted, duration, minute

WORST_HOURS = 8
# Findings of an hour that are told.
MAX_FINDINGS = 3
# How bad a period was, the worst first. none: too little is recorded of the server.
_WORST_FIRST: tuple[Level, ...] = ("bad", "warn", "none", "good")
# When the server answered last, to five minutes.
_ANSWERED = "max_over_time(timestamp(ase_up{%s} == 1)[%s:5m])"


@dataclass(frozen=True, slots=True)
class ToEase:
    """The hour of which there is most to ease still. later: the changes of the server made after it."""

    hour: Hour
    later: tuple[Change, ...]
    diagnosis: PastDiagnosis


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server over a period.

    worst: its worst hours by the exported diagnosis, the worst first. diagnosis: of the first of them. load, tables:
    what it did, on average, and what happened. to_ease: of the worst hour since the last change. scrape: seconds
    between scrapes.
    """

    name: str
    period: Period
    history: ServerHistory
    worst: tuple[Hour, ...]
    marks: tuple[Change, ...]
    effects: tuple[Effect, ...]
    gaps: tuple[Span, ...]
    to_ease: ToEase
    diagnosis: PastDiagnosis
    load: tuple[LoadRow, ...]
    tables: Mapping[str, ProfileTable]
    scrape: float
    requests: int

    @property
    def missing(self) -> float:
        """Seconds without data or without the server."""
        return sum(gap.seconds for gap in self.gaps)

    @property
    def level(self) -> Level:
        """How bad the period was, by its alerts and by the diagnosis of its worst hour."""
        severities = {severity for (_, severity), _ in self.tables["alerts"].rows}
        alerted: Level = "bad" if "critical" in severities else "warn" if "warning" in severities else "good"
        return min(alerted, self.diagnosis.level, key=_WORST_FIRST.index)

    @property
    def verdict(self) -> str:
        """What matters most, in one sentence."""
        parts = [f"{self.name}, worst hour from {minute(self.worst[0].start)}: {self.diagnosis.sentence}"]
        parts += [f"also {each.word}: {each.text}" for each in self.diagnosis.findings[1:MAX_FINDINGS]]
        if self.diagnosis.not_judged:
            parts.append(self.diagnosis.not_judged)
        if self.effects:
            number = sum(len(effect.marks) for effect in self.effects)
            count = Counter(effect.outcome for effect in self.effects)
            outcomes = ", ".join(f"{count[outcome]} {outcome}" for outcome in count)
            parts.append(f"{counted(number, 'change')} ({outcomes})")
        parts.append(_alerts_told(self.tables["alerts"]))
        for names, seconds in self.tables["full"].rows[:1]:
            parts.append(f"{' '.join(filter(None, names))} will be full in {duration(seconds)}")
        if self.missing:
            parts.append(f"data are missing for {duration(self.missing)}")
        return "; ".join(parts) + "."

    @property
    def harmless(self) -> list[Change]:
        """Those without an effect of their own."""
        judged = {mark for effect in self.effects for mark in effect.marks}
        return [mark for mark in self.marks if mark not in judged]


def read_report(server: Prometheus, target: str, range_: Range, now: float, more: str = "") -> ServerReport:
    """The report on a server. more: further label matchers. Raises UserError if there is nothing to report on."""
    selector = server_selector(target, more)
    period = range_.period(now)
    require_one_server(server, selector, Span("of the report", period.start, period.end))
    answered = server.query(_ANSWERED % (selector, range_text(period.seconds)), period.end)
    last = max((each.value for each in answered), default=period.end)
    scrape = read_coverage(server, selector, Span("last hour", last - HOUR, last)).interval
    found_gaps = read_gaps(server, selector, period, scrape)
    period = range_.period(now, scrape)
    history = without_edges(
        read_server_history(server, selector, period),
        [(gap.start, gap.end) for gap in found_gaps],
        SCRAPES_PER_WINDOW * max(scrape, SHIPPED_INTERVAL),
    )
    first = period.start // period.hour * period.hour
    diagnosed = found_by_span(server, selector, first, period.end, period.hour)
    ranked = hours(history, diagnosed)
    marks = read_changes(server, selector, period, scrape)
    effects = judge(server, selector, marks, now, scrape)
    worst = sorted(ranked, key=lambda hour: hour.rank, reverse=True)

    def diagnosis_of(hour: Hour) -> PastDiagnosis:
        end = min(period.end, hour.start + hour.seconds)
        return read_diagnosis(server, selector, Span("hour", hour.start, end))

    diagnosis = diagnosis_of(worst[0])
    eased, later = _to_ease(worst, effects)
    profile = ProfileReader(server, selector, Span("period", period.start, period.end), scrape)
    load, tables = tuple(profile.load()), {name: profile.table(name) for name in empty_tables()}
    return ServerReport(
        name=target,
        period=period,
        history=history,
        worst=tuple(worst[:WORST_HOURS]),
        marks=tuple(marks),
        effects=tuple(effects),
        gaps=tuple(gap for gap in found_gaps if gap.name != THIN),
        to_ease=ToEase(eased, later, diagnosis if eased is worst[0] else diagnosis_of(eased)),
        diagnosis=diagnosis,
        load=load,
        tables=tables,
        scrape=scrape,
        requests=server.requests,
    )


def _alerts_told(alerts: ProfileTable) -> str:
    """The urgent alerts in words."""
    urgent = [row for row in alerts.rows if row[0][1] in ("critical", "warning")]
    if not urgent:
        return "alerts are not known" if alerts.reason else "no alert fired"
    # Of those of a severity, the one that fired longest.
    (name, severity), seconds = min(urgent, key=lambda row: row[0][1])
    return f"{counted(len(urgent), 'alert')} fired, {name} ({severity}) for {duration(seconds)}"


def _to_ease(worst: Sequence[Hour], effects: Sequence[Effect]) -> tuple[Hour, tuple[Change, ...]]:
    """The worst hour since the last change, or the worst of all if none has begun since; the changes after it."""
    last = max((effect.at for effect in effects), default=0.0)
    hour = next((each for each in worst if each.start >= last), worst[0])
    end = hour.start + hour.seconds
    return hour, tuple(mark for effect in effects for mark in effect.marks if mark.at >= end)
