"""One scrape of one target: connect if needed, read the collectors in turn, say how it went.

A deadline bounds it all: what was read by then is the answer. The plan (which statements this server can
answer) is made when a connection is made, and again when something was unavailable for a while.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import TypeVar

from ase_exporter import memory
from ase_exporter.catalogue import Catalogue, PlannedCollector, plan, read_facts, unavailable_reason
from ase_exporter.catalogue.limits import limit_series
from ase_exporter.changes.detect import Watch
from ase_exporter.changes.snapshot import Look
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.connection import Connection, DatabaseError, Endpoint, Row
from ase_exporter.cost import Budget, Cost, session_cpu
from ase_exporter.counters import CounterStore
from ase_exporter.errors import UnreadableError, UserError
from ase_exporter.families import Family, single
from ase_exporter.refusal import Refusal, Refusals, refused
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.table import Table

log = logging.getLogger(__name__)

Rows = TypeVar("Rows", bound=Sized)

# Collectors after a slow one must get their turn, so each may take this share of the time that is left.
COLLECTOR_SHARE = 0.6
COLLECTOR_LEAST = 1.0
# The server's clock may change its hour, databases and caches come and go.
FACTS_LAST = 3600.0

# Read in every scrape, whatever the budget: what tells of restarts, and what the budget is measured by.
VITAL = ("state", "own_session")

PING = "select 1"
SESSION_SETUP = "set quoted_identifier off set language us_english"


@dataclass(slots=True)
class Outcome:
    """How one collector fared in one scrape. reason: '' or why it gave nothing."""

    seconds: float
    reason: str = ""


@dataclass
class Run:
    """One scrape under way; another thread may take what it has when time is up.

    module: what is read, by name; '' for the target's own. families: what others gave beforehand;
    collected: what each collector gave, up to series_limit samples in all.
    up: the server answered at least one statement. error: why the target, not just a collector, failed.
    stretched: how many collectors are read less often, to keep the budget. refusals: of its logins, once it is over.
    """

    deadline: float
    collectors: frozenset[str] | None = None
    families: list[list[Family]] = field(default_factory=list)
    module: str = ""
    collected: dict[str, list[Family]] = field(default_factory=dict)
    series_limit: int = 5000
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    own: list[Family] = field(default_factory=list)
    look: Look | None = None
    up: bool = False
    error: str = ""
    error_kind: str = ""
    version: str = ""
    stretched: int = 0
    refusals: Refusals | None = None
    started: float = field(default_factory=time.monotonic)
    _finished: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def finish(self) -> bool:
        """True for the first who asks: only one answer leaves."""
        with self._lock:
            first, self._finished = not self._finished, True
            return first

    def all_families(self, stuck: bool) -> list[Family]:
        """Everything read, and how it went."""
        error_kind = "stuck" if stuck else self.error_kind
        families = [
            single("ase_up", "gauge", "1 if the server answered in this scrape.", float(self.up)),
            single(
                "ase_exporter_scrape_duration_seconds",
                "gauge",
                "How long this scrape of the target took.",
                time.monotonic() - self.started,
            ),
        ]
        if error_kind:
            error = Family(
                "ase_exporter_target_error", "gauge", "1: why the target could not be read.", ("reason",)
            )
            error.add(1.0, error_kind)
            families.append(error)
        for group in list(self.families):
            families += group
        families += limit_series(dict(self.collected), self.series_limit)
        return families + self._collector_families() + self.own

    def _collector_families(self) -> list[Family]:
        outcomes = sorted(self.outcomes.items())
        success = Family(
            "ase_exporter_collector_success",
            "gauge",
            "1 if the collector was read whole in this scrape.",
            ("collector",),
        )
        duration = Family(
            "ase_exporter_collector_duration_seconds",
            "gauge",
            "How long reading the collector took.",
            ("collector",),
        )
        for name, outcome in outcomes:
            success.add(float(not outcome.reason), name)
            duration.add(outcome.seconds, name)
        available = Family(
            "ase_exporter_collector_available",
            "gauge",
            "0 if the server cannot give what the collector reads, with the reason; else 1.",
            ("collector", "reason"),
        )
        for name, _ in outcomes:
            if name not in self.unavailable:
                available.add(1.0, name, "")
        for name, reason in sorted(self.unavailable.items()):
            available.add(0.0, name, reason)
        return [family for family in (success, duration, available) if family.samples]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last reading of a collector: when it began, what it gave, and why it gave nothing."""

    at: float
    families: list[Family]
    reason: str


@dataclass(slots=True)
class _Reading:
    """What one module reads of the target: the plan of its statements, and what lasts between scrapes."""

    module: Module
    planned: list[PlannedCollector] = field(default_factory=list)
    planned_at: float | None = None
    unavailable: dict[str, str] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    kept: dict[str, _Kept] = field(default_factory=dict)
    counters: CounterStore = field(default_factory=CounterStore)


class TargetScraper:
    """What a target has between scrapes: connection, plans, counters. For one thread at a time.

    module: what is read where a scrape names no other; modules: the others, by name. refusal: what another
    process knew of the login.
    """

    def __init__(
        self,
        target: Target,
        auth: Auth,
        module: Module,
        scrape: Scrape,
        catalogue: Catalogue,
        watch: Watch | None = None,
        sysmon: SysmonRunner | None = None,
        modules: Mapping[str, Module] | None = None,
        refusal: Refusal | None = None,
    ) -> None:
        self.name = target.name
        self._endpoint = Endpoint(target.host, target.port, target.charset, target.encrypt_password)
        self._auth = auth
        self._reading = _Reading(module)
        self._readings = {name: _Reading(other) for name, other in (modules or {}).items()}
        self._readings |= {"": self._reading, target.module: self._reading}
        self._limits = scrape
        self._catalogue = catalogue
        self._watch = watch
        self._last_look = ""
        self._sysmon = sysmon
        self._connection: Connection | None = None
        self._refusal = refusal
        self._version = ""
        self.cost = Cost()
        self._budget = Budget(target.budget or scrape.budget)
        self._received = 0

    def scrape(self, run: Run) -> None:
        """Fill `run`. Never raises: errors of any kind end up in it."""
        self._reading = self._readings[run.module]
        run.series_limit = self._reading.module.series_limit
        try:
            self._ensure_plan(run)
            self._read_collectors(run)
            self._look(run)
        except DatabaseError as error:
            self._fail(run, error.kind, str(error))
            # Who was only too slow keeps the connection: to begin anew each time would never come to an end.
            if not (error.usable and error.kind == "deadline"):
                self._drop_connection()
        except UserError as error:
            self._fail(run, "secret_unreadable", str(error))
        except Exception:
            # A defect of ours must cost one target one scrape, not the worker.
            log.exception("target %s: unexpected error", self.name)
            self._fail(run, "internal", "unexpected error, see the log")
            self._drop_connection()
        self._count_received()
        self.cost.scrapes += 1
        run.version = self._version
        run.refusals = Refusals(self._refusal, self._sysmon.refusal if self._sysmon else None)
        run.unavailable = dict(self._reading.unavailable)
        run.own = [*self.cost.families(), *self._keep_budget(run), *self._reading.counters.families()]
        if self._sysmon is not None and run.collectors is None:
            run.own += self._sysmon.families()

    @property
    def connected(self) -> bool:
        """Whether there is a connection, which may have been lost meanwhile."""
        return self._connection is not None

    def close(self) -> None:
        """Log out; the next scrape logs in again."""
        self._drop_connection()

    def _fail(self, run: Run, kind: str, text: str) -> None:
        run.error_kind, run.error = kind, text
        log.warning("target %s: %s", self.name, text, extra={"target": self.name, "kind": kind})

    def _ensure_plan(self, run: Run) -> None:
        reading = self._reading
        if self._connection is None:
            self._connection = self._connect(run.deadline)
            for each in self._readings.values():
                each.planned_at = None
            self._query(SESSION_SETUP, run.deadline)
        if reading.planned_at is not None:
            lasts = self._limits.recheck if reading.unavailable else FACTS_LAST
            if time.monotonic() - reading.planned_at <= lasts:
                return
        facts = read_facts(lambda sql: self._query(sql, run.deadline))
        reading.planned = plan(self._catalogue, facts, reading.module.collectors, reading.module.top)
        reading.planned_at = time.monotonic()
        reading.unavailable = {
            collector.name: collector.reason for collector in reading.planned if not collector.available
        }
        self._version = str(facts.version)
        memory.give_back()
        run.up = True

    def _connect(self, deadline: float) -> Connection:
        password = self._auth.read_password()
        why = self._refusal.forbids(password, time.monotonic()) if self._refusal else ""
        if why:
            raise DatabaseError("login_suspended", f"login {self._auth.user} {why}")
        self.cost.connects += 1
        limit = min(deadline, time.monotonic() + self._limits.connect_timeout)
        try:
            connection = Connection.open(self._endpoint, self._auth.user, password, deadline=limit)
        except DatabaseError as error:
            if error.kind in ("login_failed", "login_locked"):
                self._refusal = refused(self._refusal, password, time.monotonic())
            raise
        self._refusal = None
        return connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._count_received()
            self._received = 0
            self._connection.close()
            self._connection = None

    def _count_received(self) -> None:
        if self._connection is not None:
            before, self._received = self._received, self._connection.received()
            self.cost.received += max(0, self._received - before)

    def _query(self, sql: str, deadline: float) -> list[Row]:
        return self._counted(Connection.query, sql, deadline)

    def _read_table(self, sql: str, deadline: float) -> Table | list[Row]:
        return self._counted(Connection.read, sql, deadline)

    def _counted(self, read: Callable[[Connection, str, float], Rows], sql: str, deadline: float) -> Rows:
        if self._connection is None:
            raise DatabaseError("lost", "the connection was lost")
        self.cost.statements += 1
        started = time.monotonic()
        try:
            rows = read(self._connection, sql, deadline)
        finally:
            self.cost.seconds += time.monotonic() - started
        self.cost.rows += len(rows)
        return rows

    def _keep_budget(self, run: Run) -> list[Family]:
        """Set the intervals for the scrapes to come; what there is to say of it."""
        own = self._reading is self._readings[""]
        cpu = session_cpu(run.collected.get("own_session", ())) if own else None
        now = time.monotonic()
        if news := self._budget.settle(now, self.cost.seconds, cpu):
            log.warning("target %s: %s", self.name, news, extra={"target": self.name})
        names = [collector.name for collector in self._reading.planned]
        stretched = [(name, self._budget.stretch((id(self._reading), name), now)) for name in names]
        run.stretched = sum(times > 1 for _, times in stretched)
        return self._budget.families(stretched)

    def _read_collectors(self, run: Run) -> None:
        wanted = [
            collector
            for collector in self._reading.planned
            if collector.available and (run.collectors is None or collector.name in run.collectors)
        ]
        # What was late last time comes last, so that it does not starve the others again.
        wanted.sort(key=lambda collector: collector.name in self._reading.late)
        for collector in wanted:
            if time.monotonic() >= run.deadline:
                run.outcomes[collector.name] = Outcome(0.0, "deadline")
            elif collector.name not in self._reading.unavailable:
                self._read(collector, run)
        if not run.up and not any(outcome.reason for outcome in run.outcomes.values()):
            # Nothing was due, so nothing was sent yet: whether the server is up must be asked.
            self._query(PING, run.deadline)
            run.up = True

    def _read(self, collector: PlannedCollector, run: Run) -> None:
        started, name = time.monotonic(), collector.name
        key = (id(self._reading), name)
        interval = self._budget.asked(key, started, collector.interval, vital=name in VITAL)
        kept = self._reading.kept.get(name)
        # What failed is tried again in the next scrape, unless the budget says otherwise.
        if kept and started - kept.at < interval and (not kept.reason or interval > collector.interval):
            late = started - kept.at >= collector.interval
            # Repeated, a counter would stand still and then jump: there is no telling how fast it grew.
            repeated = [family for family in kept.families if not (late and family.kind == "counter")]
            run.collected[name] = repeated
            run.outcomes[name] = Outcome(0.0, kept.reason)
            return
        limit = started + max(COLLECTOR_LEAST, (run.deadline - started) * COLLECTOR_SHARE)
        limit = min(limit, run.deadline)
        reason, spent, families = "internal", self.cost.seconds, list[Family]()
        try:
            read = self._read_table if collector.many else self._query
            results = [read(sql, limit) for sql in collector.statements]
            run.up = True
            families = self._families(collector, results)
            run.collected[name] = families
            self._reading.late.discard(name)
            reason = ""
        except DatabaseError as error:
            reason = error.kind
            unavailable = unavailable_reason(error.number) if error.usable else ""
            if unavailable:
                self._reading.unavailable[name] = reason = unavailable
                run.up = True
            elif error.kind == "deadline":
                self._reading.late.add(name)
            if not error.usable:
                raise
            log.warning("target %s: collector %s: %s", self.name, name, error)
        finally:
            self._budget.took(key, self.cost.seconds - spent)
            if collector.interval or self._budget.share is not None:
                self._reading.kept[name] = _Kept(started, families, reason)
            run.outcomes[name] = Outcome(time.monotonic() - started, reason)

    def _families(self, collector: PlannedCollector, results: Sequence[Table | list[Row]]) -> list[Family]:
        try:
            return collector.families(results, self._reading.counters, time.monotonic())
        except UnreadableError as error:
            raise DatabaseError("lost", str(error)) from None

    def _look(self, run: Run) -> None:
        """Look for changes of the configuration when it is time to."""
        if self._watch is None or run.collectors is not None:
            return
        if not self._watch.due():
            run.outcomes["changes"] = Outcome(0.0, self._last_look)
            return
        started, reason = time.monotonic(), ""
        limit = started + (run.deadline - started) * COLLECTOR_SHARE
        try:
            run.look = self._watch.look(lambda sql: self._query(sql, limit))
        except DatabaseError as error:
            reason = error.kind
            if not error.usable:
                raise
            log.warning("target %s: looking for changes: %s", self.name, error)
        finally:
            self._last_look = reason
            run.outcomes["changes"] = Outcome(time.monotonic() - started, reason)
