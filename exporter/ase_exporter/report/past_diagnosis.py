"""What the exporter's diagnosis said in spans of time, from the series that it exports: nothing is judged again."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.catalogue import FindingDefinition, catalogue
from ase_exporter.diagnosis.diagnose import (
    NOT_KNOWN,
    STARTING,
    STATE_RANKS,
    Level,
    Subject,
    Unknown,
    level_of,
    not_judged_text,
)
from ase_exporter.diagnosis.provenance import collector_of, why
from ase_exporter.views.figures import shown

# Means over all scrapes of a span: what did not hold in one counts nothing there.
_MEANS = (
    "sum by (finding, word) (sum_over_time(ase_diagnosis_rank{SELECTOR}[WIDTH]))"
    " / scalar(sum(count_over_time(ase_diagnosis_first_info{SELECTOR}[WIDTH])))"
)
# What stops work comes first, as in each diagnosis, unless a scrape or two alone had no answer.
_STOPS = 'avg by (finding, word) (avg_over_time(ase_diagnosis_rank{finding=~"STOPS", SELECTOR}[WIDTH]))'
_RANKS = f"({_STOPS} and {_MEANS} > 0.05 or {_MEANS})"
_HELD = "avg by (finding) (avg_over_time(ase_diagnosis_finding{SELECTOR}[WIDTH]))"
_SHARES = "avg by (finding) (avg_over_time(ase_diagnosis_share{SELECTOR}[WIDTH]))"
_SUBJECTS = (
    "topk by (finding) (1, sum by (finding, kind, subject)"
    ' (count_over_time(ase_diagnosis_first_info{SELECTOR, subject!=""}[WIDTH])))'
)
_ACCOUNT = "sum by (part) (avg_over_time(ase_diagnosis_account_sessions{SELECTOR}[WIDTH]))"
_COLLECTORS = "last_over_time(ase_exporter_collector_available{SELECTOR}[WIDTH])"


@dataclass(frozen=True, slots=True)
class PastFinding:
    """Something that was wrong in a span of time.

    rank: its mean over all scrapes, or, if it stopped work for a while, over those then. held: the share of the scrapes
    that judged it in which it was found, 0-1. share: of all session time that it explained then, None if it explains no
    part of it. subject: what it was about most often where it came first, None if it never did or was about nothing.
    """

    name: str
    word: str
    rank: float
    held: float
    share: float | None
    subject: Subject | None

    @property
    def definition(self) -> FindingDefinition | None:
        """None of a finding that this version does not know."""
        return catalogue().findings.get(self.name)

    @property
    def text(self) -> str:
        """How much it explains and how often it was found, without names of the server."""
        explains = "" if self.share is None else f"{shown(self.share, 'ratio')} of session time, "
        return f"{explains}found in {shown(self.held, 'ratio')} of the scrapes that judged it"

    @property
    def sentence(self) -> str:
        """The finding with the name of what it was about first."""
        about = f"{self.subject.kind} {self.subject.name}: " if self.subject else ""
        return f"{self.word}: {about}{self.text}"


@dataclass(frozen=True, slots=True)
class PastDiagnosis:
    """What was wrong with a server in a span of time, the worst first.

    state, word, rank: of what came first on average, a finding or a state without one. account: mean number of
    sessions by part. unknown: why, by finding that no scrape has judged.
    """

    state: str
    word: str
    rank: float
    findings: tuple[PastFinding, ...]
    account: Mapping[str, float]
    unknown: Mapping[str, str]

    @property
    def level(self) -> Level:
        """How bad it was; "none" where nothing was known."""
        return "none" if self.state in (NOT_KNOWN, STARTING) else level_of(self.rank)

    @property
    def sentence(self) -> str:
        """What came first."""
        return self.findings[0].sentence if self.findings else self.word

    @property
    def not_judged(self) -> str:
        """The vital findings that were not judged, and why; '' if there are none."""
        known = catalogue().findings
        vital = [
            Unknown(name, known[name].word, reason, vital=True)
            for name, reason in self.unknown.items()
            if known[name].vital
        ]
        return not_judged_text(vital) if vital else ""


@dataclass(frozen=True, slots=True)
class FoundInSpan:
    """What came first in a span of time that starts then. rank: of that; below 0 a state without a finding."""

    start: float
    word: str
    rank: float


def read_diagnosis(prometheus: Prometheus, selector: str, span: Span) -> PastDiagnosis:
    """The diagnosis of one server over a span."""

    def ask(query: str) -> Iterator[tuple[Labels, float]]:
        filled = _filled(query, selector, span.seconds)
        return ((each.labels, each.value) for each in prometheus.query(filled, span.end))

    ranks = sorted(ask(_RANKS), key=lambda each: -each[1])
    held = {labels.get("finding", ""): value for labels, value in ask(_HELD)}
    shares = {labels.get("finding", ""): value for labels, value in ask(_SHARES)}
    subjects = {
        labels.get("finding", ""): Subject(labels.get("kind", ""), labels.get("subject", ""))
        for labels, _ in ask(_SUBJECTS)
    }
    available = {
        labels.get("collector", ""): "" if value else labels.get("reason", "")
        for labels, value in ask(_COLLECTORS)
    }
    first, rank = ranks[0] if ranks else ({}, STATE_RANKS[NOT_KNOWN])
    names = [(labels.get("finding", ""), labels.get("word", ""), rank) for labels, rank in ranks]
    return PastDiagnosis(
        state=first.get("finding", NOT_KNOWN),
        word=first.get("word", "NOT KNOWN"),
        rank=rank,
        findings=tuple(
            PastFinding(name, word, rank, held.get(name, 0.0), shares.get(name), subjects.get(name))
            for name, word, rank in names
            if name not in STATE_RANKS
        ),
        account={labels.get("part", ""): value for labels, value in ask(_ACCOUNT)},
        unknown={
            name: _reason(definition, available)
            for name, definition in catalogue().findings.items()
            if name not in held
        },
    )


def _reason(definition: FindingDefinition, available: Mapping[str, str]) -> str:
    """Why a finding was not judged. available: by collector that is on why it was not read, '' if it was."""
    reasons = []
    for metric in sorted(catalogue().metrics_of(definition)):
        collector = collector_of(metric)
        if collector and collector not in available:
            reasons.append(f"collector {collector} is off")
        elif reason := available.get(collector):
            reasons.append(why(metric, reason, {}))
    return "; ".join(dict.fromkeys(reasons)) or "nothing to compare with, or no data"


def found_by_span(
    prometheus: Prometheus, selector: str, start: float, end: float, seconds: float
) -> list[FoundInSpan]:
    """What came first in each span of that length between two times, in order of time.

    The last span ends with the second time, so that it may be shorter.
    """
    whole = math.floor((end - start) / seconds)
    last = start + whole * seconds
    found: list[FoundInSpan] = []
    if whole:
        query = _filled(f"topk(1, {_RANKS})", selector, seconds)
        for series in prometheus.over(query, start + seconds, last, seconds):
            word = series.labels.get("word", "")
            found += [
                FoundInSpan(float(at) - seconds, word, float(rank))
                for at, rank in zip(series.times, series.values, strict=True)
            ]
    if end - last >= 1:
        for sample in prometheus.query(_filled(f"topk(1, {_RANKS})", selector, end - last), end):
            found.append(FoundInSpan(last, sample.labels.get("word", ""), sample.value))
    return sorted(found, key=lambda span: span.start)


def _filled(query: str, selector: str, seconds: float) -> str:
    stops = "|".join(name for name, each in catalogue().findings.items() if each.stops >= 1)
    # The selector last: it may hold any of these words.
    return query.replace("WIDTH", range_text(seconds)).replace("STOPS", stops).replace("SELECTOR", selector)
