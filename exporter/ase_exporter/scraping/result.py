"""What one scrape of one target has read so far, the metric families it becomes, and what others keep of it."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ase_exporter.catalogue import ServerFacts
from ase_exporter.changes.snapshot import ConfigSnapshot
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.diagnosis.diagnose import Diagnosis, Level, unreachable
from ase_exporter.diagnosis.exported import diagnosis_families
from ase_exporter.diagnosis.measures import NO_READINGS
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.outcomes import CollectorOutcome, outcome_families
from ase_exporter.metrics.series_limits import limit_series
from ase_exporter.sessions.session import Snapshot


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    """What a caller wants of a target. Callers who want the same at the same time share one scrape.

    collectors: only these, None for all of the target's module. compress: gzip the exposition. session_groups: what to
    read of sessions, as `sessions.sources` has it, in place of an exposition.
    """

    collectors: frozenset[str] | None = None
    compress: bool = False
    session_groups: frozenset[str] = frozenset()

    @property
    def is_whole(self) -> bool:
        """Whether it asks for all that a module has."""
        return self.collectors is None and not self.session_groups


@dataclass(slots=True)
class ScrapeSummary:
    """What the landing page shows of a scrape.

    up: the server answered at least one statement. error: why the target, not just a collector, failed.
    name, version: of the server, '' if unknown. series: number of samples exposed. stretched: number of collectors
    that are read less often to keep the budget. unreadable: collectors that
    a role or an option of the server would enable.
    """

    up: bool = False
    error: str = ""
    name: str = ""
    version: str = ""
    series: int = 0
    stretched: int = 0
    unreadable: tuple[str, ...] = ()


def _down(summary: ScrapeSummary) -> Diagnosis:
    """The diagnosis of a server that did not answer."""
    return unreachable(NO_READINGS, summary.error or "no answer in time")


@dataclass(slots=True)
class TargetState:
    """The last scrape of a target. summary: None before the first; at: Unix time. diagnosis: the last one."""

    summary: ScrapeSummary | None = None
    at: float | None = None
    diagnosis: Diagnosis | None = None

    @property
    def is_up(self) -> bool:
        """Whether the server answered in the last scrape."""
        return self.summary is not None and self.summary.up

    @property
    def was_up(self) -> bool:
        """Whether the server ever answered."""
        return self.summary is not None and self.summary.version != ""

    @property
    def word(self) -> str:
        """The state in one word, as people know it."""
        if self.diagnosis:
            return self.diagnosis.word
        return "up" if self.is_up else "not scraped yet"

    @property
    def level(self) -> Level:
        """How bad the state is."""
        if self.diagnosis:
            return self.diagnosis.level
        return "good" if self.is_up else "none"

    @property
    def rank(self) -> float:
        """What is worst is largest; a server that was not scraped comes last."""
        return self.diagnosis.rank if self.diagnosis else -math.inf

    def update(self, summary: ScrapeSummary, verdict: Diagnosis | None) -> None:
        """Keep a new summary; a scrape that did not reach the server keeps its name and version.

        verdict: None of a scrape that did not read everything, which says of the server only whether it answers.
        """
        if verdict or not summary.up:
            self.diagnosis = verdict or _down(summary)
        if (known := self.summary) and not summary.version:
            summary = replace(summary, name=known.name, version=known.version)
        self.summary, self.at = summary, time.time()


@dataclass
class ScrapeResult:
    """A scrape in progress. Another thread may render it when the deadline has passed.

    Set by the caller: deadline (monotonic time of `clock`); request; families: known to the caller, exposed with the
    rest.

    Set by the scrape: collected: families per collector, exposed up to series_limit samples in all; outcomes and
    unavailable (reasons) per collector; diagnostics: families about the scrape itself; config_snapshot: if one
    was due; sessions: if they were asked for; error_kind: the reason in summary.error as one word; ended: the scrape
    has; sysmon_halted: sp_sysmon cleared counters, and is not run again; facts: of the
    server, None before the first login; diagnosis: None before it ended, and if it does not read all of a module.
    """

    deadline: float
    request: ScrapeRequest = ScrapeRequest()
    families: Sequence[Family] = ()
    clock: Clock = SYSTEM_CLOCK
    collected: dict[str, list[Family]] = field(default_factory=dict)
    series_limit: int = 5000
    outcomes: dict[str, CollectorOutcome] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    diagnostics: list[Family] = field(default_factory=list)
    config_snapshot: ConfigSnapshot | None = None
    sessions: Snapshot | None = None
    summary: ScrapeSummary = field(default_factory=ScrapeSummary)
    error_kind: str = ""
    ended: bool = False
    sysmon_halted: bool = False
    facts: ServerFacts | None = None
    diagnosis: Diagnosis | None = None

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @property
    def is_late(self) -> bool:
        """Whether most of its time has passed."""
        now = self.clock.monotonic()
        return now - self._started > self.deadline - now

    @property
    def failed(self) -> set[str]:
        """Collectors whose last reading failed."""
        return {name for name, each in self.outcomes.items() if each.reason not in ("", "unreadable")}

    @property
    def missing(self) -> dict[str, str]:
        """Collectors without a whole answer, with the reason: not available, or failed in this scrape."""
        return {name: each.reason for name, each in self.outcomes.items() if each.reason} | self.unavailable

    @property
    def verdict(self) -> Diagnosis | None:
        """The diagnosis, also of a server that has not answered so far; None if not all was asked for."""
        if self.diagnosis is None and self.request.is_whole and not self.summary.up:
            return _down(self.summary)
        return self.diagnosis

    def all_families(self, stuck: bool) -> list[Family]:
        """Everything read so far, and the metrics about the scrape. stuck: its thread has not come back."""
        error_kind = "stuck" if stuck else self.error_kind
        families = [
            OWN.value("ase_up", self.summary.up),
            OWN.value("ase_exporter_scrape_duration_seconds", self.clock.monotonic() - self._started),
        ]
        if error_kind:
            families.append(OWN.family("ase_exporter_target_error", [((error_kind,), 1.0)]))
        families += self.families
        families += limit_series(dict(self.collected), self.series_limit)
        families += outcome_families("ase_exporter", dict(sorted(self.outcomes.items())))
        reasons = dict.fromkeys(sorted(self.outcomes), "") | dict(sorted(self.unavailable.items()))
        available = [
            ((name, reason), float(name not in self.unavailable)) for name, reason in reasons.items()
        ]
        if available:
            families.append(OWN.family("ase_exporter_collector_available", available))
        if verdict := self.verdict:
            families += diagnosis_families(verdict)
        return families + self.diagnostics
