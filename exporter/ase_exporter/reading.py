"""What one module reads of a target: its collectors, all quick ones in one round trip, each with its share of the time.

The plan (which statements this server can answer) is made when a connection is made, and again when something was
unavailable for a while.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.catalogue import Catalogue, PlannedCollector, ServerFacts, plan, unavailable_reason
from ase_exporter.config import Module
from ase_exporter.connection import DatabaseError, Row
from ase_exporter.cost import Budget
from ase_exporter.counters import CounterStore
from ase_exporter.errors import UnreadableError
from ase_exporter.families import Family
from ase_exporter.run import Outcome, Run
from ase_exporter.session import Session
from ase_exporter.table import Table

log = logging.getLogger(__name__)

# Collectors after a slow one must get their turn, so each may take this share of the time that is left.
COLLECTOR_SHARE = 0.6
COLLECTOR_LEAST = 1.0
# A scrape that comes a moment before a collector is due would leave it to the next one.
ALMOST = 0.95
# The server's clock may change its hour, databases and caches come and go.
FACTS_LAST = 3600.0

# Read in every scrape, whatever the budget: what tells of restarts, and what the budget is measured by.
VITAL = ("state", "own_session")

PING = "select 1"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last reading of a collector: in the scrape of when, what it gave, and why it gave nothing."""

    at: float
    families: list[Family]
    reason: str


class Reading:
    """Plan, counters and kept readings of one module; they last from scrape to scrape.

    target: its name, for the log. budget: of the target, which may have other modules too. recheck: seconds after
    which what was unavailable is tried again.
    """

    def __init__(self, target: str, module: Module, budget: Budget, recheck: float) -> None:
        self.module = module
        self.counters = CounterStore()
        self.unavailable: dict[str, str] = {}
        self._target = target
        self._budget = budget
        self._recheck = recheck
        self._planned: list[PlannedCollector] = []
        self._planned_at: float | None = None
        self._now = 0.0
        self._kept: dict[str, _Kept] = {}
        # Collectors that failed the last time, and whether this server answers many selects at once.
        self._apart: set[str] = set()
        self._batches = True

    @property
    def is_planned(self) -> bool:
        """Whether there is a plan that still holds."""
        if self._planned_at is None:
            return False
        lasts = self._recheck if self.unavailable else FACTS_LAST
        return time.monotonic() - self._planned_at <= lasts

    def forget_plan(self) -> None:
        """Another connection: what the server has may have changed."""
        self._planned_at = None

    def make_plan(self, catalogue: Catalogue, facts: ServerFacts) -> None:
        """Plan for what the server has."""
        self._planned = plan(catalogue, facts, self.module.collectors, self.module.top)
        self._planned_at = time.monotonic()
        self._batches = True
        self.unavailable = {
            collector.name: collector.reason for collector in self._planned if not collector.available
        }

    def stretched(self) -> list[tuple[str, float]]:
        """Each collector, and how many times as long as without a budget its interval is."""
        now = time.monotonic()
        return [
            (collector.name, self._budget.stretch(self._key(collector.name), now))
            for collector in self._planned
        ]

    def read(self, run: Run, session: Session) -> None:
        """Read what is due. Raises DatabaseError if the connection is of no use any more."""
        wanted = [
            collector
            for collector in self._planned
            if collector.available
            and collector.name not in self.unavailable
            and (run.collectors is None or collector.name in run.collectors)
        ]
        self._now = time.monotonic()
        due = [collector for collector in wanted if not self._repeat(collector, run)]
        broken = self._read_together(due, run, session)
        # What failed last time comes last, so that it does not starve the others again.
        due.sort(key=lambda collector: collector.name in self._apart)
        for collector in due:
            if collector.name in run.outcomes:
                continue
            if time.monotonic() >= run.deadline:
                run.outcomes[collector.name] = Outcome(0.0, "deadline")
            else:
                self._read_alone(collector, run, session)
        if broken and not any(run.outcomes[collector.name].reason for collector in due):
            log.warning("target %s: from now on one select at a time: %s", self._target, broken)
            self._batches = False
        if not run.up and not any(outcome.reason for outcome in run.outcomes.values()):
            # Nothing was due, so nothing was sent yet: whether the server is up must be asked.
            session.query(PING, run.deadline)
            run.up = True

    def _repeat(self, collector: PlannedCollector, run: Run) -> bool:
        """Show what the collector gave the last time, if it is not due."""
        now, name = self._now, collector.name
        interval = self._budget.asked(self._key(name), now, collector.interval, vital=name in VITAL)
        kept = self._kept.get(name)
        # What failed is tried again in the next scrape, unless the budget says otherwise.
        if not kept or (kept.reason and interval <= collector.interval):
            return False
        if now - kept.at >= interval * ALMOST:
            return False
        late = now - kept.at >= collector.interval * ALMOST
        # Repeated, a counter would stand still and then jump: there is no telling how fast it grew.
        repeated = [family for family in kept.families if not (late and family.kind == "counter")]
        run.collected[name] = repeated
        run.outcomes[name] = Outcome(0.0, kept.reason)
        return True

    def _read_together(
        self, due: Sequence[PlannedCollector], run: Run, session: Session
    ) -> DatabaseError | None:
        """Read those that are quick in one round trip. Gives the error of the server that ended it, if one did:
        what was not read by then is left to be read alone."""
        quick = [collector for collector in due if self._is_quick(collector, session)]
        if len(quick) < 2 or time.monotonic() >= run.deadline:
            return None
        results: list[tuple[list[Row], float]] = []
        broken: DatabaseError | None = None
        started = time.monotonic()
        try:
            selects = [collector.statements[0] for collector in quick]
            for rows in session.together(selects, lambda: _limit(run)):
                results.append((rows, time.monotonic() - started))
                started = time.monotonic()
        except DatabaseError as error:
            # With its traceback it would hold this frame, and all that was read, until the garbage is collected.
            broken = error.with_traceback(None)
            if error.kind == "out_of_step":
                results.clear()
        for collector, (rows, seconds) in zip(quick, results, strict=False):
            self._take(collector, [rows], run, seconds)
        if broken and not broken.usable:
            raise broken
        return None if broken and broken.kind == "deadline" else broken

    def _is_quick(self, collector: PlannedCollector, session: Session) -> bool:
        """Whether it may be read together with others: one select of few rows, which did not fail last time."""
        sql, *others = collector.statements
        if others or not sql.startswith("select ") or (collector.many and session.is_large(sql)):
            return False
        return self._batches and collector.name not in self._apart

    def _read_alone(self, collector: PlannedCollector, run: Run, session: Session) -> None:
        started, limit = time.monotonic(), _limit(run)
        read = session.read if collector.many else session.query
        try:
            results = [read(sql, limit) for sql in collector.statements]
        except DatabaseError as error:
            self._note_failure(collector, error, run, time.monotonic() - started)
            if not error.usable:
                raise
            log.warning("target %s: collector %s: %s", self._target, collector.name, error)
        else:
            self._take(collector, results, run, time.monotonic() - started)

    def _take(
        self, collector: PlannedCollector, results: Sequence[Table | list[Row]], run: Run, seconds: float
    ) -> None:
        """Make families of what was read. seconds: that it took."""
        started, reason, families = time.monotonic(), "internal", list[Family]()
        run.up = True
        try:
            families = collector.families(results, self.counters, started)
            run.collected[collector.name] = families
            self._apart.discard(collector.name)
            reason = ""
        except UnreadableError as error:
            reason = "lost"
            raise DatabaseError("lost", str(error)) from None
        finally:
            self._note(collector, families, reason, run, seconds, time.monotonic() - started)

    def _note_failure(
        self, collector: PlannedCollector, error: DatabaseError, run: Run, seconds: float
    ) -> None:
        unavailable = unavailable_reason(error.number) if error.usable else ""
        if unavailable:
            self.unavailable[collector.name] = unavailable
            run.up = True
        self._apart.add(collector.name)
        self._note(collector, [], unavailable or error.kind, run, seconds)

    def _note(
        self,
        collector: PlannedCollector,
        families: list[Family],
        reason: str,
        run: Run,
        reading: float,
        counting: float = 0.0,
    ) -> None:
        """How one collector fared. reading, counting: seconds that its statements and we took."""
        self._budget.took(self._key(collector.name), reading)
        seconds = reading + counting
        if collector.interval or self._budget.share is not None:
            self._kept[collector.name] = _Kept(self._now, families, reason)
        run.outcomes[collector.name] = Outcome(seconds, reason)

    def _key(self, collector: str) -> tuple[int, str]:
        return id(self), collector


def _limit(run: Run) -> float:
    """Until when what is read next may take: its share of the time that is left."""
    now = time.monotonic()
    return min(run.deadline, now + max(COLLECTOR_LEAST, (run.deadline - now) * COLLECTOR_SHARE))
