"""Judges a target of `serve` after each scrape, by the last minute or more of what its own scrapes have read."""

from functools import cache
from pathlib import Path

from ase_exporter.advise.evidence import METRICS, Evidence, evidence_of
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import BLOCKED, STARTING, Diagnosis, diagnose, unreachable
from ase_exporter.diagnosis.provenance import collector_of
from ase_exporter.diagnosis.usual import Usual
from ase_exporter.metrics.declared import OWN
from ase_exporter.readings.samples import Sample, Tracker
from ase_exporter.scraping.result import ScrapeResult

# Seconds: rates are over a minute at least, whoever scrapes how often, and few readings are kept for them.
WINDOW, SPACING = 60.0, 30.0
# After a longer time without a scrape, what was read before says nothing of now.
MAX_GAP = 600.0
# For so long a diagnosis of a server that answers holds, however many scrape it: over a minute, no rate changes much.
HOLDS = 10.0


class TargetWatch:
    """The judge of one target, for its thread alone. state_directory: where what is usual is kept, None for nowhere."""

    def __init__(self, target: str, state_directory: Path | None, clock: Clock = SYSTEM_CLOCK) -> None:
        self._target = target
        self._clock = clock
        self._tracker = Tracker(WINDOW, SPACING, _tracked_metrics())
        self._usual = Usual(target, state_directory)
        self._last = 0.0
        # The last diagnosis of a scrape without an error that knew enough, and when it was made.
        self._diagnosis: Diagnosis | None = None
        self._judged_at = 0.0
        self._evidence: tuple[Sample, Diagnosis] | None = None

    def judge(self, result: ScrapeResult) -> None:
        """Set the diagnosis of a scrape that has ended, if it read all that the target's module has."""
        if not result.request.is_whole:
            return
        now = self._clock.monotonic()
        fails = bool(result.summary.error) or not result.summary.up
        if self._diagnosis and not fails and now - self._judged_at < HOLDS:
            result.diagnosis = self._diagnosis
            return
        if fails or now - self._last > MAX_GAP:
            self._tracker.forget()
        self._last = now
        if not result.summary.up:
            result.diagnosis = unreachable(self._sample(result), result.summary.error or "no answer in time")
            self._diagnosis = self._evidence = None
            return
        if not result.summary.error:
            families = {**result.collected, "": [OWN.value("ase_up", 1.0)]}
            self._tracker.note(self._last, families, result.failed)
        sample = self._sample(result)
        found = diagnose(sample, self._usual.baseline(self._clock.time()))
        if found.state != STARTING and not result.summary.error:
            self._usual.note(self._clock.time(), found)
        result.diagnosis = found
        self._diagnosis = None if fails or found.state == STARTING else found
        self._judged_at = now
        self._evidence = (sample, found)

    def evidence(self) -> Evidence | None:
        """For advice, of the window of the last diagnosis; None while the server does not answer. From any thread."""
        # Once: the target's thread may put another one in its place meanwhile, or none.
        if (found := self._evidence) is None:
            return None
        sample, diagnosis = found
        if not isinstance(facts := sample.facts, ServerFacts):
            return None
        seconds = max(1.0, sample.window("ase_engine_cpu_seconds_total"))
        return evidence_of(
            sample, diagnosis, facts.version, seconds, page_size=facts.page_size, options=facts.options
        )

    def _sample(self, result: ScrapeResult) -> Sample:
        read = {*result.outcomes, *result.unavailable, ""}
        return Sample(
            target=self._target,
            at=self._clock.time(),
            monotonic=self._last,
            interval=0.0,
            error=result.summary.error,
            version=result.summary.version,
            series=self._tracker.series(),
            missing=result.missing,
            off=_judged_collectors() - read,
            facts=result.facts,
        )


@cache
def _judged_collectors() -> frozenset[str]:
    return frozenset(map(collector_of, _judged_metrics()))


@cache
def _tracked_metrics() -> frozenset[str]:
    return _judged_metrics() | METRICS


@cache
def _judged_metrics() -> frozenset[str]:
    """The metrics that the diagnosis reads."""
    selections = (each for measure in catalogue().measures.values() for each in measure.selections)
    return frozenset(each.metric for each in selections) | {BLOCKED, "ase_wait_seconds_total"}
