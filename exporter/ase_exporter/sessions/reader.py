"""Reads the sources of one target over its connection: at an interval, each failure for itself, less and less often."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.backoff import Backoff
from ase_exporter.catalogue.facts import ServerFacts, unavailable_reason
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.sessions.session import Snapshot, WaitTracker, sessions_of
from ase_exporter.sessions.sources import (
    MAX_ROWS,
    PROCESSES,
    STATEMENTS,
    WAITS,
    PlannedSource,
    plan_sources,
    waiting_spids,
)
from ase_exporter.sessions.statements import StatementCost, StatementTracker

Query = Callable[[str], Sequence[Sequence[Any]]]

# Seconds until a source is tried again that failed, doubled with each further time.
RETRY, MAX_RETRY = 30.0, 300.0
# Seconds between two readings of the statement cache: counters of a second say little.
STATEMENT_INTERVAL = 10.0


class SessionReader:
    """Takes snapshots of one target. For the target's own thread. interval: seconds between two of them, at least;
    statement_interval: between two readings of the caches.

    last: the last snapshot. seconds: that it took; statements: how many selects.
    """

    def __init__(
        self,
        interval: float = 0.0,
        clock: Clock = SYSTEM_CLOCK,
        *,
        statement_interval: float = STATEMENT_INTERVAL,
    ) -> None:
        self.interval = interval
        self._statement_interval = statement_interval
        self.last: Snapshot | None = None
        self.seconds, self.statements = 0.0, 0
        self._clock = clock
        self._taken = -math.inf
        self._groups: frozenset[str] = frozenset()
        self._plan: list[PlannedSource] = []
        self._facts: ServerFacts | None = None
        self._failures: Backoff[str, str] = Backoff(RETRY, MAX_RETRY)
        self._tracker, self._waits = StatementTracker(), WaitTracker()
        self._statements_read = -math.inf
        self._found: list[StatementCost] = []

    def due(self, interval: float, groups: Collection[str]) -> bool:
        """Whether a snapshot of these groups may be taken now. interval: that the budget allows."""
        # The last one may have been taken for a caller who wanted less.
        more = interval <= self.interval and not self._groups.issuperset(groups)
        return more or self._clock.monotonic() - self._taken >= interval

    def take(
        self, query: Query, facts: ServerFacts, groups: Collection[str], limit: float = math.inf
    ) -> Snapshot:
        """Read the sources of these groups, until a limit (monotonic). Raises DatabaseError without a connection."""
        self._taken = began = self._clock.monotonic()
        self._groups = frozenset(groups)
        at, self.statements = self._clock.time(), 0
        if facts is not self._facts:
            if self._facts is None or facts.server_name != self._facts.server_name:
                # Another server answers.
                self._tracker, self._waits = StatementTracker(), WaitTracker()
            self._plan, self._facts = plan_sources(facts), facts
        rows: dict[str, list[dict[str, Any]]] = {}
        missing: dict[str, str] = {}
        cut = False
        spids = waiting_spids(groups)
        wanted = {*groups, *([WAITS] if spids else ())}
        for planned in self._plan:
            name, group = planned.name, planned.source.group
            if group not in wanted or (name in PROCESSES and any(each in rows for each in PROCESSES)):
                continue
            if group == STATEMENTS and not self._statements_due(began):
                missing[name] = planned.reason
                continue
            missing[name] = self._obstacle(planned, limit)
            if missing[name]:
                continue
            try:
                self.statements += 1
                answer = query(planned.sql.format(spids=", ".join(map(str, spids))))
            except DatabaseError as error:
                if not error.usable:
                    raise
                missing[name] = self._note(name, error)
                continue
            self._failures.clear(name)
            try:
                rows[name] = [dict(zip(planned.columns, map(_finite, row), strict=True)) for row in answer]
            except ValueError:
                missing[name] = "unreadable"
            cut |= name in PROCESSES and len(answer) >= MAX_ROWS
        if STATEMENTS in groups and self._statements_due(began):
            self._statements_read = began
            self._found = self._tracker.note(rows, began, at)
        self.seconds = self._clock.monotonic() - began
        reasons = {name: reason for name, reason in missing.items() if reason}
        self.last = Snapshot(
            at,
            sessions_of(rows, facts),
            tuple(self._found) if STATEMENTS in groups else (),
            reasons,
            cut,
            tuple(self._waits.note(rows.get("session_waits", ()), facts, began)),
        )
        return self.last

    def _statements_due(self, now: float) -> bool:
        return now - self._statements_read >= self._statement_interval

    def _obstacle(self, planned: PlannedSource, limit: float) -> str:
        now = self._clock.monotonic()
        if planned.reason:
            return planned.reason
        if self._failures.seconds_left(planned.name, now):
            return self._failures.failures[planned.name].reason
        return "no time was left" if now >= limit else ""

    def _note(self, name: str, error: DatabaseError) -> str:
        reason = unavailable_reason(error.number) or error.kind
        self._failures.note(name, reason, self._clock.monotonic(), accident=True)
        return reason


def _finite(cell: Any) -> Any:
    """A cell, NULL in place of NaN and infinity: no page and no JSON can show them."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
